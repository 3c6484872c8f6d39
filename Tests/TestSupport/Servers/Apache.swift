import Foundation

/// Apache in the foreground with a configuration of its own.
package final class Apache: Sendable {
  package let url: String
  private let process: Running

  package static var isInstalled: Bool { Programs.find("apache2") != nil }

  package init(_ bench: Bench) async throws {
    guard let program = Programs.find("apache2") else { throw TestFault("apache2 is not installed") }
    let folder = try bench.scratch.folder("apache")
    let port = try Loopback.freePort()
    let modules = ["mpm_event", "authz_core", "dir", "mime", "filter", "deflate"].map {
      "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so"
    }
    let config = """
      ServerRoot \(folder)
      ServerName 127.0.0.1
      Listen 127.0.0.1:\(port)
      PidFile \(folder)/pid
      Mutex file:\(folder)
      DefaultRuntimeDir \(folder)
      ErrorLog \(folder)/error.log
      User www-data
      Group www-data
      \(modules.joined(separator: "\n"))
      TypesConfig /etc/mime.types
      DocumentRoot \(bench.served)
      AddOutputFilterByType DEFLATE text/plain application/octet-stream
      <Directory \(bench.served)>
        Require all granted
      </Directory>
      """
    let file = folder + "/apache.conf"
    try Data(config.utf8).write(to: URL(fileURLWithPath: file))
    process = try bench.serve(program, ["-X", "-f", file], folder: folder)
    url = "http://127.0.0.1:\(port)"
    try await Loopback.ready(process, port: port)
  }
}
