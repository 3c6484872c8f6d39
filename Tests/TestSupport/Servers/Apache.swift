import Foundation

/// Apache in the foreground with a configuration of its own.
package final class Apache: Sendable {
  package let url: String
  private let process: Running

  package static var isInstalled: Bool { Programs.find("apache2") != nil }

  package init(_ bench: Bench) async throws {
    guard let program = Programs.find("apache2") else { throw TestFault("apache2 is not installed") }
    let folder = try bench.scratch.folder("apache")
    let modules = ["mpm_event", "authz_core", "dir", "mime", "filter", "deflate"].map {
      "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so"
    }
    let port: Int
    (port, process) = try await Loopback.serve { port in
      let file = folder + "/apache.conf"
      try Data(Self.config(folder, bench.served, modules, port: port).utf8).write(
        to: URL(fileURLWithPath: file))
      return try bench.serve(program, ["-X", "-f", file], folder: folder)
    }
    url = "http://127.0.0.1:\(port)"
  }

  private static func config(_ folder: String, _ served: String, _ modules: [String], port: Int) -> String {
    """
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
    DocumentRoot \(served)
    AddOutputFilterByType DEFLATE text/plain application/octet-stream
    <Directory \(served)>
      Require all granted
    </Directory>
    """
  }
}
