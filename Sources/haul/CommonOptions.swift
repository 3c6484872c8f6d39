import ArgumentParser
import Foundation
import JobModel

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

  @Flag(help: "Nothing on standard error on success; on failure the summary alone.")
  var quiet = false

  var stateFolder: StateFolder {
    let environment = ProcessInfo.processInfo.environment
    func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
    // A relative one is to be ignored (XDG Base Directory Specification).
    let path =
      stateDir ?? value("HAUL_STATE_DIR")
      ?? value("XDG_STATE_HOME").flatMap { $0.hasPrefix("/") ? $0 + "/haul" : nil }
      ?? (value("HOME") ?? NSHomeDirectory()) + "/.local/state/haul"
    return StateFolder(path: Paths.absolute(path))
  }

  /// The state folder of commands that look at all jobs.
  ///
  /// - Throws: `End` with 73 where something else than a folder has its name, or it can't be read.
  func existingState() throws -> StateFolder {
    let state = stateFolder
    guard FileManager.default.fileExists(atPath: state.path) else { return state }
    do { _ = try FileManager.default.contentsOfDirectory(atPath: state.path) } catch {
      throw End(
        .cannotCreate, "the state folder `\(state.path)` can't be read",
        hint: "give a folder with --state-dir")
    }
    return state
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

  /// Absolute, with links left as they are: below the shell's idea of where it is (`pwd -L`), where that is right.
  static func logical(_ path: String) -> String {
    guard !path.hasPrefix("/") else { return RelativePath.tidy(path) }
    let here = FileManager.default.currentDirectoryPath
    let shells = ProcessInfo.processInfo.environment["PWD"].flatMap { RelativePath.isAbsolute($0) ? $0 : nil }
    let base = shells.flatMap { real($0) == real(here) ? $0 : nil } ?? here
    return RelativePath.tidy(base + "/" + path)
  }

  /// Links resolved, so that one file has one name.
  static func real(_ path: String) -> String {
    guard let resolved = realpath(path, nil) else { return absolute(path) }
    defer { free(resolved) }
    return String(cString: resolved)
  }
}
