import ArgumentParser
import Foundation
import JobLedger
import JobModel
import Reporting
import TransferEngine

struct PlanCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "plan",
    abstract: "Compiles a job and shows what a run would do; transfers nothing, drops nothing.")

  @Argument(help: "The manifest.")
  var manifest: String

  @Option(name: .customLong("set"), help: ArgumentHelp("A value for ${var.NAME}.", valueName: "NAME=VALUE"))
  var overrides: [String] = []

  @Flag(help: "Ask the servers for what is not known.")
  var probe = false

  @Flag(help: "Take over a job that the state knows from another manifest's path.")
  var adopt = false

  @OptionGroup var common: CommonOptions

  func run() async throws {
    let file = try ManifestFile(manifest)
    let opened = try await JobOpening.openApart(
      file, given: try Overrides.parse(overrides), state: common.stateFolder, adopt: adopt, startsNew: false,
      ifRunning: .fail, reports: ReportSink(path: nil, json: common.json, isPlan: true))
    guard let opened else { return }
    let (job, ledger) = (opened.job, opened.ledger)
    let lines = PlanLines(ledger: ledger, job: job, isNewRun: opened.continued == nil)
    let setUp =
      probe
      ? try EngineSetUp(
        job: job, stateFolder: common.stateFolder.folder(job.name), ledger: ledger,
        writer: LedgerWriter(ledger) { _ in }, run: 0, board: LiveBoard(), events: { _ in }) : nil
    defer { setUp?.shutDown() }
    let prober = setUp.map { Prober($0.context) }
    DiagnosticText.print(opened.diagnostics)
    if common.json {
      let json = PlanJSON { Terminal.out($0) }
      var head = try ReportSink.head(job.name, ledger, nil)
      head.diagnostics = opened.diagnostics.map(RecordedDiagnostic.init)
      try json.begin(head)
      try await lines.each(prober) { try json.add($0) }
      try json.finish()
    } else {
      let text = PlanText(isColoured: Terminal.isTerminal(STDOUT_FILENO) && Terminal.hasColour) {
        Terminal.out($0)
      }
      try await lines.each(prober) { try text.add($0) }
      try text.finish()
    }
  }
}

/// A plan's transfers with what a run would do with each, a page at a time.
struct PlanLines {
  let ledger: JobLedger
  let job: Job
  let isNewRun: Bool

  func each(_ prober: Prober?, _ body: (PlanLine) throws -> Void) async throws {
    let folder = try Folder.open(job.directory)
    var last: Int64 = 0
    while true {
      let page = try ledger.page(after: last, onlyTouched: false, limit: 256)
      guard let end = page.last else { return }
      last = end.seq
      for transfer in page {
        var remote: RemoteObject?
        var trouble: String?
        if let prober, transfer.settings.direction == .download {
          do { remote = try await prober.probe(transfer) } catch let failure as Failure {
            trouble = failure.code.rawValue
          }
        }
        let forecast = Forecast.of(
          transfer, folder: folder, endpoints: job.endpoints, remote: remote, isNewRun: isNewRun)
        try body(line(transfer, forecast, trouble))
      }
    }
  }

  private func line(_ transfer: LedgerTransfer, _ forecast: Forecast, _ trouble: String?) -> PlanLine {
    let place = transfer.settings.direction == .download ? transfer.source : transfer.destination
    let action: PlanLine.Action =
      switch forecast.action {
      case .transfer: trouble == nil ? .transfer : .unknown
      case .upToDate: .upToDate
      case .resume: .resume
      case .skip: .skip
      case .unknown: .unknown
      }
    var line = PlanLine(
      id: transfer.id, direction: transfer.settings.direction, source: transfer.source,
      destination: transfer.destination,
      protocolName: ProtocolChoice.word(place, endpoints: job.endpoints), size: forecast.size,
      chunkSize: forecast.chunkSize, chunks: forecast.chunks, action: action,
      reason: trouble ?? forecast.reason,
      isResumable: forecast.isResumable, isParallel: forecast.isParallel, verifiedBy: forecast.verifiedBy)
    line.policy = transfer.settings.policy
    line.policyName = transfer.settings.policyName
    if forecast.action == .resume, let chunk = forecast.chunkSize {
      line.present = min(forecast.size ?? 0, Int64(transfer.progress.chunksCompleted) * chunk)
    }
    return line
  }
}
