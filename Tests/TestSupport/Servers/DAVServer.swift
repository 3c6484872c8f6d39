import Foundation

/// A WebDAV server that nobody here wrote, over a folder: Apache's mod_dav, or `rclone serve webdav` (Go's webdav package).
package final class DAVServer: Sendable {
  package enum Make: String, CaseIterable, Sendable { case apache, rclone }

  package let make: Make
  package let url: String
  /// What it serves.
  package let folder: String
  package let process: Running
  private let logPath: String
  /// Keeps the folder.
  private let scratch: Scratch

  package static let user = "haul"
  package static let password = "dav-pass-of-today"
  package static let environment = ["DAV_PASSWORD": password]

  package init(_ make: Make, _ bench: Bench) async throws {
    self.make = make
    scratch = bench.scratch
    let own = try bench.scratch.folder("\(make)-\(UUID().uuidString.prefix(6))")
    folder = own + "/files"
    logPath = own + "/access.log"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    // Apache gives up root.
    guard chmod(folder, 0o777) == 0, chmod(own, 0o777) == 0 else { throw TestFault("chmod: errno \(errno)") }
    let port: Int
    switch make {
    case .apache:
      guard let program = Programs.find("apache2") else { throw TestFault("apache2 is not installed") }
      let name = (own as NSString).lastPathComponent
      try bench.scratch.write("\(name)/users", Self.users)
      (port, process) = try await Loopback.serve { [folder, logPath] port in
        let file = try bench.scratch.write(
          "\(name)/apache.conf", Self.config(own, folder, logPath, port: port))
        return try bench.serve(program, ["-X", "-f", file], folder: own)
      }
    case .rclone:
      let program = try (Venv.python() as NSString).deletingLastPathComponent + "/rclone"
      (port, process) = try await Loopback.serve { [folder] port in
        try bench.serve(
          program,
          [
            "serve", "webdav", "--addr", "127.0.0.1:\(port)", "--user", Self.user, "--pass", Self.password,
            "--dir-cache-time", "20ms", "--poll-interval", "0", folder,
          ])
      }
    }
    url = "http://127.0.0.1:\(port)"
  }

  /// Apache's requests: `method`, `path`, `status`, `bytes_in` with the head.
  package func log() -> [JSON] { JSON.lines(logPath) }

  /// An endpoint in a manifest.
  package func endpoint(_ base: String = "", auth: String? = nil) -> String {
    let auth = auth ?? "{ basic: { user: \(Self.user), password: { env: DAV_PASSWORD } } }"
    return "{ type: webdav, url: \(quoted(url + base)), auth: \(auth) }"
  }

  /// SHA-1 of the password, as htpasswd writes it.
  private static let users = "\(user):{SHA}Y58tYFcraNxcnmC6rj8c21wjwVY=\n"

  private static func config(_ own: String, _ folder: String, _ log: String, port: Int) -> String {
    let modules = [
      "mpm_event", "authn_core", "authn_file", "authz_core", "authz_user", "auth_basic", "dav", "dav_fs",
    ].map { "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so" }
    return """
      ServerRoot \(own)
      ServerName 127.0.0.1
      Listen 127.0.0.1:\(port)
      PidFile \(own)/pid
      Mutex file:\(own)
      DefaultRuntimeDir \(own)
      ErrorLog \(own)/error.log
      User www-data
      Group www-data
      \(modules.joined(separator: "\n"))
      DocumentRoot \(folder)
      DavLockDB \(own)/locks
      LogFormat "{\\"method\\":\\"%m\\",\\"path\\":\\"%U\\",\\"status\\":%>s,\\"bytes_in\\":%I}" visits
      CustomLog \(log) visits
      <Directory \(folder)>
        Dav On
        AuthType Basic
        AuthName haul
        AuthUserFile \(own)/users
        Require valid-user
      </Directory>
      """
  }
}
