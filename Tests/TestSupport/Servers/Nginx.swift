import Foundation

/// nginx with a configuration of its own: ranges, gzip where a client takes it, and PUT by its DAV module.
package final class Nginx: Sendable {
  package let url: String
  package let port: Int
  package let process: Running
  private let logPath: String
  private let bodies: String
  /// Keeps the log's folder.
  private let scratch: Scratch

  package static var isInstalled: Bool { Programs.find("nginx") != nil }

  package struct Setting: Sendable {
    /// PEM files: it speaks TLS.
    package var certificate: (certificate: String, key: String)?
    /// Wants client certificates of this CA.
    package var clientCA: String?
    /// Offers HTTP/2, over TLS only.
    package var isHTTP2 = false
    /// Listens on these, at one port.
    package var addresses = ["127.0.0.1"]
    /// Bytes a second of each answer's body.
    package var rate: Int?
    package init() {}
  }

  package init(_ bench: Bench, _ change: (inout Setting) -> Void = { _ in }) async throws {
    var setting = Setting()
    change(&setting)
    guard let program = Programs.find("nginx") else { throw TestFault("nginx is not installed") }
    let folder = try bench.scratch.folder("nginx-\(UUID().uuidString.prefix(6))")
    scratch = bench.scratch
    logPath = folder + "/access.log"
    bodies = folder + "/client_body"
    let isV6 = setting.addresses[0].hasPrefix("[")
    (port, process) = try await Loopback.serve(accepts: isV6 ? Loopback.acceptsOnV6 : Loopback.accepts) {
      [setting, logPath] port in
      let file = folder + "/nginx.conf"
      let config = Self.config(setting, folder: folder, log: logPath, served: bench.served, port: port)
      try Data(config.utf8).write(to: URL(fileURLWithPath: file))
      return try bench.serve(
        program, ["-e", folder + "/error.log", "-p", folder, "-c", file], folder: folder)
    }
    url = (setting.certificate == nil ? "http" : "https") + "://\(setting.addresses[0]):\(port)"
  }

  private static func config(
    _ setting: Setting, folder: String, log: String, served: String, port: Int
  ) -> String {
    let temp = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(folder)/\($0);" }
    let kind = (setting.certificate == nil ? "" : " ssl") + (setting.isHTTP2 ? " http2" : "")
    var lines = setting.addresses.map { "listen \($0):\(port)\(kind);" }
    if let pair = setting.certificate {
      lines.append("ssl_certificate \(pair.certificate); ssl_certificate_key \(pair.key);")
    }
    if let ca = setting.clientCA { lines.append("ssl_client_certificate \(ca); ssl_verify_client on;") }
    if let rate = setting.rate { lines.append("limit_rate \(rate);") }
    return """
      daemon off; master_process off; pid \(folder)/pid; error_log \(folder)/error.log;
      events { worker_connections 256; }
      http {
        \(temp.joined(separator: " "))
        log_format visits escape=json '{"method":"$request_method","path":"$uri","status":$status,'
          '"range":"$http_range","bytes_out":$body_bytes_sent,"bytes_in":"$content_length",'
          '"encoding":"$sent_http_content_encoding","version":"$server_protocol","to":"$server_addr"}';
        access_log \(log) visits;
        gzip on; gzip_types *; gzip_min_length 1;
        client_max_body_size 0;
        server {
          \(lines.joined(separator: " "))
          root \(served);
          dav_methods PUT; create_full_put_path on;
        }
      }
      """
  }

  package func log() -> [JSON] { JSON.lines(logPath) }

  /// A body of more than some kilobytes is on its way here.
  package var isReceiving: Bool {
    (try? FileManager.default.contentsOfDirectory(atPath: bodies).isEmpty) == false
  }
}
