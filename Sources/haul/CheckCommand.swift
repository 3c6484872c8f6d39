import ArgumentParser
import Endpoints
import Foundation
import JobLedger
import JobManifest
import JobModel
import Reporting

struct CheckCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check", abstract: "Reports every fault of a manifest; touches neither network nor state.")

  @Argument(help: "The manifest; `-` is standard input.")
  var manifest: String

  @Option(name: .customLong("set"), help: ArgumentHelp("A value for ${var.NAME}.", valueName: "NAME=VALUE"))
  var overrides: [String] = []

  @OptionGroup var common: CommonOptions

  func run() async throws {
    let file = try ManifestFile(manifest, takesStandardInput: true)
    let result = file.read(overrides: try Overrides.parse(overrides))
    var diagnostics = result.diagnostics
    var count = 0
    if let job = result.readable ?? result.job {
      let now = Date().timeIntervalSince1970
      let expansion = try PlanCompiler.check(
        job, run: RunValues(id: ULID.make(now: now), date: Timestamp.date(now)),
        sparing: common.stateFolder.folders(for: job))
      diagnostics += expansion.diagnostics.filter { !diagnostics.contains($0) }
      count = expansion.transfers
    }
    let errors = diagnostics.filter { $0.severity == .error }
    DiagnosticText.print(diagnostics)
    if common.json {
      var head = ReportHead(toolVersion: Haul.version, jobName: result.readable?.name)
      head.manifest = file.path
      head.manifestSHA256 = file.sha256
      head.description = result.readable?.description
      head.diagnostics = diagnostics.map(RecordedDiagnostic.init)
      try CheckJSON.write(head, isOK: errors.isEmpty) { Terminal.out($0) }
    }
    guard errors.isEmpty else {
      throw End(
        .of(errors),
        "`\(manifest)`: \(errors.count) \(errors.count == 1 ? "error" : "errors")")
    }
    if !common.json {
      Terminal.out("`\(manifest)` is valid: \(count) \(count == 1 ? "transfer" : "transfers")\n")
    }
  }
}

extension ExitStatus {
  /// How what can't be read or compiled ends: as the manifest's fault, unless all its errors have another cause.
  static func of(_ errors: [Diagnostic]) -> ExitStatus {
    let causes = Set(errors.map(\.cause))
    return switch causes {
    case [.unreadableInput]: .noInput
    case [.commandLine]: .usage
    default: .invalidManifest
    }
  }
}

/// `--set NAME=VALUE`.
enum Overrides {
  static func parse(_ texts: [String]) throws -> [String: String] {
    var found: [String: String] = [:]
    for text in texts {
      let pair = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard pair.count == 2, !pair[0].isEmpty else {
        throw End(.usage, "`--set \(text)`: write `--set NAME=VALUE`")
      }
      found[String(pair[0])] = String(pair[1])
    }
    return found
  }
}
