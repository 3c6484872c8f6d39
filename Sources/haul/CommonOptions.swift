import ArgumentParser
import Foundation

/// What every command takes.
struct CommonOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Where state is kept.",
      discussion: "Default: $HAUL_STATE_DIR, $XDG_STATE_HOME/haul, ~/.local/state/haul."))
  var stateDir: String?

  @Flag(help: "Machine output on standard output.")
  var json = false

  @Option(help: "What is logged on standard error: debug, info, warning or error.")
  var logLevel = LogLevel.warning

  @Option(help: "How it is logged: text or json.")
  var logFormat = LogFormat.text

  @Flag(help: "No progress on standard error.")
  var noProgress = false

  var stateFolder: StateFolder {
    let environment = ProcessInfo.processInfo.environment
    func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
    let path =
      stateDir ?? value("HAUL_STATE_DIR") ?? value("XDG_STATE_HOME").map { $0 + "/haul" }
      ?? (value("HOME") ?? NSHomeDirectory()) + "/.local/state/haul"
    return StateFolder(path: Paths.absolute(path))
  }
}

enum LogLevel: String, ExpressibleByArgument, CaseIterable, Comparable {
  case debug, info, warning, error

  static func < (left: LogLevel, right: LogLevel) -> Bool {
    (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
  }
}

enum LogFormat: String, ExpressibleByArgument, CaseIterable { case text, json }

enum Paths {
  static func absolute(_ path: String) -> String {
    path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
  }

  /// Links resolved, so that one file has one name.
  static func real(_ path: String) -> String {
    guard let resolved = realpath(path, nil) else { return absolute(path) }
    defer { free(resolved) }
    return String(cString: resolved)
  }
}
