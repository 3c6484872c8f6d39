import ArgumentParser
import Endpoints
import Foundation
import JobLedger
import JobModel
import Reporting
import TransferEngine

struct PlanCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "plan",
    abstract: "Shows what a run would do, compared with what is on record; changes nothing.")

  @Argument(help: "The manifest.")
  var manifest: String

  @Option(name: .customLong("set"), help: ArgumentHelp("A value for ${var.NAME}.", valueName: "NAME=VALUE"))
  var overrides: [String] = []

  @Flag(help: "Every transfer, those that are up to date too.")
  var all = false

  @Flag(help: "Ask the servers for what is not known.")
  var probe = false

  @Flag(help: "Take over a job that the state knows from another manifest's path.")
  var adopt = false

  @OptionGroup var common: CommonOptions

  func run() async throws {
    let file = try ManifestFile(manifest)
    let given = try Overrides.parse(overrides)
    let (state, adopt, json) = (common.stateFolder, adopt, common.json)
    let preview = try await OwnThread.run {
      try PlanPreview.open(
        file, given: given, state: state, adopt: adopt,
        reports: ReportSink(path: nil, json: json, isPlan: true))
    }
    do { try await show(preview, file) } catch let error as LedgerError {
      throw End(.cannotCreate, error.description)
    }
  }

  private func show(_ preview: PlanPreview, _ file: ManifestFile) async throws {
    let setUp =
      probe
      ? try EngineSetUp(
        job: preview.job, stateFolder: preview.draft.folder,
        tokensIn: common.stateFolder.folder(preview.job.name), ledger: preview.draft.ledger,
        writer: LedgerWriter(preview.draft.ledger) { _ in }, run: 0, board: LiveBoard(), events: { _ in })
      : nil
    defer { setUp?.shutDown() }
    let prober = setUp.map { Prober($0.context) }
    DiagnosticText.print(preview.diagnostics)
    let gone = try preview.gone(limit: LeftManifest.limit)
    if common.json {
      let json = PlanJSON { Terminal.out($0) }
      var head = ReportHead(toolVersion: Haul.version, jobName: preview.job.name)
      head.manifest = file.path
      head.manifestSHA256 = file.sha256
      head.description = preview.job.description
      head.diagnostics = preview.diagnostics.map(RecordedDiagnostic.init)
      try json.begin(head)
      try await preview.each(prober) { try json.add($0) }
      try json.finish(gone: gone)
    } else {
      let isColoured = Terminal.isTerminal(STDOUT_FILENO) && Terminal.hasColour
      let text = PlanText(isColoured: isColoured, showsAll: all) { Terminal.out($0) }
      try await preview.each(prober) { try text.add($0) }
      try text.finish(gone: gone)
    }
  }
}
