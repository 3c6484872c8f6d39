import Endpoints
import Glibc
import JobLedger
import JobModel
import Posix
import Reporting
import Transfers

/// A run's events, if they were asked for (`--events`).
struct EventSink: Sendable {
  private let log: EventLog?
  private let failed = OnceValue<OutputFileError>()
  /// How the events of the run's earlier attempts end in the file; nil where it has none.
  private let tail: EventFile.Tail?
  /// Whether what an attempt has written can be read again.
  private let isFile: Bool

  /// - Throws: `End` with 73 where the file can't be opened.
  /// - Parameter output: the descriptor that `-` stands for.
  init(_ path: String?, output: Int32, run: RunRecord) throws {
    guard let path else {
      (log, tail, isFile) = (nil, nil, false)
      return
    }
    let attempt = run.attempts.last?.number ?? 1
    let (descriptor, first): (Int32, Int)
    do {
      (descriptor, first) =
        path == "-"
        ? (
          output,
          EventFile.lastSeq(ofOutput: output, run: run.id).map { $0 + 1 } ?? run.events + 1
        )
        : try EventFile.open(path, run: run.id, recorded: run.events)
    } catch {
      throw End(error)
    }
    let place = path == "-" ? "/proc/self/fd/\(output)" : path
    isFile = !ReportFile.isSpecial(place)
    tail = Self.killed(before: run) == nil ? nil : EventFile.tail(of: place, run: run.id)
    log = EventLog(
      descriptor: descriptor, path: path, closing: path != "-", run: run.id, attempt: attempt,
      firstSeq: first,
      now: { SystemClock.now }, onFailure: { [failed] in failed.set($0) })
  }

  /// Why events could not be written; the run went on without them.
  var failure: OutputFileError? { failed.value }
  var isOn: Bool { log != nil }
  var writtenSeq: Int { log?.writtenSeq ?? 0 }

  /// Tells of what happens once it is on record: after a kill, the next attempt does it again.
  func follow(_ writer: LedgerWriter) {
    log?.follow { recorded in
      Task {
        try? await writer.barrier()
        recorded()
      }
    }
  }

  func write(_ event: RunEvent) { log?.write(event) }
  func flush() { log?.flush() }

  /// The attempt before this one, where it was killed.
  private static func killed(before run: RunRecord) -> AttemptRecord? {
    run.attempts.dropLast().last.flatMap { $0.exitCode == nil ? $0 : nil }
  }

  /// Tells that the attempt begins; before that, what is on record of one that was killed and that it could not tell any
  /// more, as of that attempt.
  func began(job: Job, run: RunRecord, sha256: String?, _ opened: JobOpening) throws {
    guard let log else { return }
    // In another file than before, nobody knows what was told.
    if isFile, let killed = Self.killed(before: run), tail != nil || run.events == 0 {
      var last = tail?.at ?? run.startedAt
      try opened.ledger.tellEnded(after: last - EventFile.Tail.reach) { ended in
        let change = ended.change
        guard tail?.states[ByteText(change.id)] != change.to.word else { return }
        last = max(last, ended.endedAt)
        // Those behind it may have been killed before they told anything.
        let attempt = run.earlierAttempt(at: ended.endedAt) ?? killed
        let bytes = MovedBytes(
          transferred: ended.transferred, reused: ended.reused, discarded: ended.discarded)
        log.write(
          .engine(
            .state(
              id: change.id, from: change.from, to: change.to, failure: change.failure, bytes: bytes)),
          of: (attempt: attempt.number, at: last))
      }
    }
    log.write(
      .runStarted(job: job.name, number: run.number, manifest: job.manifestPath, manifestSHA256: sha256))
    let change = opened.compiled.change
    log.write(.planCompiled(change, transfers: change.added + change.kept + change.adjusted))
    for diagnostic in opened.diagnostics { log.write(.diagnostic(RecordedDiagnostic(diagnostic))) }
  }
}
