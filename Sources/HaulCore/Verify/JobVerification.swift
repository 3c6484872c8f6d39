import Admission
import Endpoints
import HTTPClient
import JobLedger
import JobManifest
import JobModel
import LocalFiles
import Locks
import Reporting
import Transfers

/// What `haul verify` does: compares what a job has completed with what is on record. Moves nothing, and changes nothing of
/// the job.
package struct JobVerification: Sendable {
  private let state: StateFolder
  private let context: CommandContext
  private let request: VerifyRequest
  private let json: Bool
  private let isQuiet: Bool
  private let showsProgress: Bool

  package init(
    _ state: StateFolder, _ context: CommandContext, _ request: VerifyRequest, json: Bool, isQuiet: Bool,
    showsProgress: Bool
  ) {
    self.state = state
    self.context = context
    self.request = request
    self.json = json
    self.isQuiet = isQuiet
    self.showsProgress = showsProgress
  }

  /// - Parameter signal: names what the stop came from.
  /// - Throws: `End`, unless nothing differs.
  package func run(_ name: String, _ stopper: StopController, signal: () -> String) async throws {
    do {
      let ledger = try state.open(name)
      try await run(name, ledger, stopper, signal)
    } catch let error as LedgerError { throw End(error) }
  }

  private func run(
    _ name: String, _ ledger: JobLedger, _ stopper: StopController, _ signal: () -> String
  ) async throws {
    guard let last = try ledger.lastRun() else { throw End(.noInput, "the job `\(name)` has not run yet") }
    if let ids = request.ids, try !ledger.unknown([ids.text]).isEmpty {
      throw End(
        .noInput, "`--id \(ids.text)` matches no transfer of the job `\(name)`",
        hint: "`haul report \(name)\(state.option)` lists the ids; a glob's `*` stops at a `/`, `**` does not"
      )
    }
    guard let job = try ledger.recordedJob(name, context.environment) else {
      let fault = try ledger.manifestFault(context.environment)
      throw End(
        .noInput, "the manifest of `\(name)` \(fault)",
        hint: "mend it, or put it back where the last run found it")
    }
    let draft = try PlanDraft(state)
    defer { withExtendedLifetime(draft) {} }
    // What is asked and learned on the way goes into the draft, which nobody reads.
    let writer = LedgerWriter(draft.ledger) { _ in }
    let setUp = try EngineSetUp(
      job: job, context, stateFolder: draft.folder, tokensIn: state.folder(name), ledger: draft.ledger,
      writer: writer, run: 0, board: ProgressRegistry(), events: context.console.print)
    var isLeftBehind = false
    defer { if !isLeftBehind { setUp.close() } }
    let rate = RateLimit(request.rate)
    let reads = OpenReads()
    let pass = VerificationPass(
      ledger: ledger, request: request, completed: try span(name, ledger),
      local: LocalCheck(folder: setUp.transfers.local.folder, rate: rate, reads: reads),
      uploads: UploadCheck(
        prober: Prober(
          setUp.client, endpoints: job.endpoints,
          rates: [rate, RateLimit(job.limits.downloadRate ?? .unlimited)]),
        changed: try Self.changedEndpoints(of: job, ledger), readsBack: request.readsRemote),
      pool: setUp.transfers.local.pool, reads: reads)
    try refuse(SecretCheck(job, context.secrets).forVerification(ledger, of: pass.concerns), of: name)
    // Another run since then has made another record: what was found before it counts no more.
    let question = JSON.object([
      .init("selection", request.json), .init("run", .string(last.id)),
      .init("attempt", .int(last.attempts.count)),
    ])
    let journal = try VerifyJournal(in: state.folder(name), question: question) {
      request.share == nil ? 0 : try pass.count().transfers
    }
    try goOn(from: journal)
    let isComplete = try await compare(pass, journal, stopper)
    isLeftBehind = isComplete == nil
    try finish(name, journal, isComplete: isComplete ?? false, signal)
  }

  /// - Returns: whether it came to the end; nil where a read that hangs is left behind: what was found before is on record.
  private func compare(
    _ pass: VerificationPass, _ journal: VerifyJournal, _ stopper: StopController
  ) async throws -> Bool? {
    let watch = VerifyWatch(
      context, isWanted: showsProgress && !isQuiet, from: journal.position.totals, reads: pass.reads)
    let drawing = Task { await watch.run { try pass.whole() } }
    let (console, isLive) = (context.console, !json)
    let work = Task {
      try await pass.run(journal) { finding in
        if isLive, let text = finding.text { watch.print { console.out(text) } }
      } compared: {
        watch.note($0)
      }
    }
    stopper.attach { _ in work.cancel() }
    let result: Result<Bool?, any Error>
    do {
      let isComplete = try await stopper.race(patience: .seconds(3)) { try await work.value }
      result = .success(isComplete)
    } catch is StopController.Stopped {
      result = .success(nil)
    } catch { result = .failure(error) }
    drawing.cancel()
    await drawing.value
    return try result.get()
  }

  /// - Throws: `End` with 66, unless all secrets are there: to try again would not help.
  private func refuse(_ absent: [Diagnostic], of name: String) throws {
    guard !absent.isEmpty else { return }
    context.console.print(absent)
    throw End(
      .noInput,
      "the job `\(name)`: \(Figures.count(absent.count, "secret")) \(absent.count == 1 ? "is" : "are") not there: nothing was compared",
      hint: "provide them where haul verifies; `--id` compares transfers that need none")
  }

  /// Names again what the stopped verification had found.
  private func goOn(from journal: VerifyJournal) throws {
    let (position, console) = (journal.position, context.console)
    guard position.last > 0 || !position.reads.isEmpty else { return }
    let compared = Figures.count(position.totals.compared, "transfer")
    let inside = position.reads.isEmpty ? "" : ", inside of \(Figures.count(position.reads.count, "file"))"
    console.note("going on behind the \(compared) that were compared before the stop\(inside)")
    guard !json else { return }
    try journal.each { if let text = $0.text { console.out(text) } }
  }

  private func finish(
    _ name: String, _ journal: VerifyJournal, isComplete: Bool, _ signal: () -> String
  ) throws {
    let totals = journal.position.totals
    if json {
      let out = VerifyJSON(context.console.out)
      try out.begin(job: name, toolVersion: ToolVersion.current, question: request.json)
      try journal.each { try out.add($0) }
      try out.finish(totals, isComplete: isComplete)
    } else if !isQuiet || totals.different > 0 || !isComplete {
      context.console.out(totals.text(job: name, isComplete: isComplete))
    }
    guard isComplete else {
      throw End(
        .incomplete, "stopped by \(signal()) after \(Figures.count(totals.compared, "transfer"))",
        hint: "the same command goes on from there")
    }
    // Where its reader is gone, what was found is kept for the next one.
    if context.console.unwritten == nil { journal.remove() }
    guard totals.different == 0 else { throw End(.failed) }
    guard totals.passing == 0 else {
      throw End(
        .incomplete, "\(Figures.count(totals.passing, "transfer")) could not be looked at now",
        hint: "run the same command again once that has passed")
    }
  }

  /// When what counts was completed.
  private func span(_ name: String, _ ledger: JobLedger) throws -> Range<Double> {
    guard let number = request.run else { return -Double.infinity..<Double.infinity }
    guard let run = try ledger.run(number: number) else {
      throw End(
        .noInput, "\(state.words(name)) has no run \(number)",
        hint: "`haul history \(name)\(state.option)` lists its runs")
    }
    let end = try ledger.run(number: number + 1)?.startedAt ?? .infinity
    return run.startedAt..<max(run.startedAt, end)
  }

  /// Endpoints that the manifest describes in another way now than when the job last ran.
  private static func changedEndpoints(of job: Job, _ ledger: JobLedger) throws -> Set<String> {
    func members(_ text: String) -> [String: JSON] {
      let members = JSON(Array(text.utf8))?.members ?? []
      return Dictionary(members.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
    }
    guard let text = try ledger.meta("endpoints") else { return [] }
    let (then, now) = (members(text), members(EndpointRecords(job.endpoints).text))
    return Set(now.filter { then[$0.key] != $0.value }.keys)
  }
}
