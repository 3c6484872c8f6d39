import Foundation

/// nginx with a configuration of its own: ranges, gzip where a client takes it, and PUT by its DAV module.
package final class Nginx: Sendable {
  package let url: String
  private let process: Running
  private let logPath: String
  /// Keeps the log's folder.
  private let scratch: Scratch

  package static var isInstalled: Bool { Programs.find("nginx") != nil }

  package init(_ bench: Bench) async throws {
    guard let program = Programs.find("nginx") else { throw TestFault("nginx is not installed") }
    let folder = try bench.scratch.folder("nginx-\(UUID().uuidString.prefix(6))")
    scratch = bench.scratch
    logPath = folder + "/access.log"
    let port = try Loopback.freePort()
    let temp = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(folder)/\($0);" }
    let config = """
      daemon off; master_process off; pid \(folder)/pid; error_log \(folder)/error.log;
      events { worker_connections 256; }
      http {
        \(temp.joined(separator: " "))
        log_format visits escape=json '{"method":"$request_method","path":"$uri","status":$status,'
          '"range":"$http_range","bytes_out":$body_bytes_sent,"bytes_in":"$content_length",'
          '"encoding":"$sent_http_content_encoding"}';
        access_log \(logPath) visits;
        gzip on; gzip_types *; gzip_min_length 1;
        client_max_body_size 0;
        server {
          listen 127.0.0.1:\(port);
          root \(bench.served);
          dav_methods PUT; create_full_put_path on;
        }
      }
      """
    let file = folder + "/nginx.conf"
    try Data(config.utf8).write(to: URL(fileURLWithPath: file))
    process = try bench.serve(
      program, ["-e", folder + "/error.log", "-p", folder, "-c", file], folder: folder)
    url = "http://127.0.0.1:\(port)"
    try await Loopback.ready(process, port: port)
  }

  package func log() -> [JSON] { JSON.lines(logPath) }
}
