import Endpoints
import HTTPClient
import JobLedger
import JobModel
import Posix
import Reporting
import Transfers

/// What `haul plan` prints of a preview.
package struct PlanOutput {
  private let file: ManifestFile
  private let state: StateFolder
  private let context: CommandContext

  package init(_ file: ManifestFile, _ state: StateFolder, _ context: CommandContext) {
    self.file = file
    self.state = state
    self.context = context
  }

  /// - Parameters:
  ///   - probes: asks the servers for what is not known.
  ///   - showsAll: transfers that are up to date, too.
  package func write(
    overrides: [String: String], adopt: Bool, probes: Bool, showsAll: Bool, json: Bool
  ) async throws {
    let (file, state) = (file, state)
    let reports = ReportSink(targets: [], json: json, isPlan: true, state: state, context: context)
    let preview = try await DedicatedThread.run {
      try PlanPreview.open(file, given: overrides, state: state, adopt: adopt, reports: reports)
    }
    defer { preview.draft.discard() }
    do {
      try await write(preview, probes: probes, showsAll: showsAll, json: json)
    } catch let error as LedgerError { throw End(error) }
  }

  private func write(_ preview: PlanPreview, probes: Bool, showsAll: Bool, json: Bool) async throws {
    let setUp = probes ? try setUp(preview) : nil
    defer { setUp?.close() }
    let prober = setUp.map { Prober($0.client, endpoints: preview.job.endpoints) }
    let console = context.console
    console.print(preview.diagnostics)
    let gone = (preview.gone.count, preview.gone.ids)
    if json {
      let json = PlanJSON(console.out)
      try json.begin(ReportHead(file, preview.job, preview.diagnostics))
      try await preview.each(prober) { try json.add($0) }
      try json.finish(gone: gone)
    } else {
      // Where messages are in colour: both are on the terminal then.
      let isColoured = console.isOutputTerminal && console.coloursErrors
      let text = PlanText(
        isColoured: isColoured, limits: preview.job.limits, showsAll: showsAll, console.out)
      if let prober {
        try await preview.each(prober) { try text.add($0) }
      } else {
        try await preview.add(to: text)
      }
      try text.finish(gone: gone)
    }
    if !probes { try preview.keep(state) }
    if let first = preview.refused.first {
      throw End(.noInput, "what `\(first)` would bring is not in the plan, as it could not be listed")
    }
  }

  private func setUp(_ preview: PlanPreview) throws -> EngineSetUp {
    let ledger = preview.draft.ledger
    return try EngineSetUp(
      job: preview.job, context, stateFolder: preview.draft.folder,
      tokensIn: state.folder(preview.job.name), ledger: ledger, writer: LedgerWriter(ledger) { _ in },
      run: 0, board: ProgressRegistry(), events: { _ in })
  }
}
