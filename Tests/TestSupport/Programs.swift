import Foundation

/// Where the programs under test and their schemas are.
package enum Programs {
  /// The package's root, told by this file's place.
  package static let root: String = {
    var folder = URL(fileURLWithPath: #filePath)
    for _ in 0..<3 { folder.deleteLastPathComponent() }
    return folder.path
  }()

  /// `HAUL_BIN_DIR`, else the debug build.
  package static let folder =
    ProcessInfo.processInfo.environment["HAUL_BIN_DIR"] ?? root + "/.build/debug"
  package static let haul = folder + "/haul"
  package static let depot = folder + "/depot"
  package static let schemas = root + "/schemas"

  /// Finds a program on the path of the tests' own environment; nil where it is not installed.
  package static func find(_ name: String) -> String? {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    return (path.split(separator: ":").map(String.init) + ["/usr/sbin", "/sbin"])
      .map { $0 + "/" + name }.first { access($0, X_OK) == 0 }
  }

  /// The interpreter itself, not a shim that looks for it anew in another environment.
  package static let python: String = {
    guard let scratch = try? Scratch(),
      let run = try? Running(
        "python3", ["-c", "import sys; print(sys.executable)"],
        environment: ProcessInfo.processInfo.environment,
        folder: "/", scratch: scratch.path)
    else { return "python3" }
    return run.waitHere().output.trimmingCharacters(in: .whitespacesAndNewlines)
  }()

}
