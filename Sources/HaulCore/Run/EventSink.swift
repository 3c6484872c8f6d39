import Endpoints
import Glibc
import JobLedger
import JobModel
import Posix
import Reporting

/// A run's events, if they were asked for (`--events`).
struct EventSink: Sendable {
  private let log: EventLog?
  private let failed = OnceValue<OutputFileError>()

  /// - Throws: `End` with 73 where the file can't be opened.
  /// - Parameter output: the descriptor that `-` stands for.
  init(_ path: String?, output: Int32, run: RunRecord) throws {
    guard let path else {
      log = nil
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
    log = EventLog(
      descriptor: descriptor, path: path, closing: path != "-", run: run.id, attempt: attempt,
      firstSeq: first,
      now: { SystemClock.now }, onFailure: { [failed] in failed.set($0) })
  }

  /// Why events could not be written; the run went on without them.
  var failure: OutputFileError? { failed.value }
  var isOn: Bool { log != nil }
  var writtenSeq: Int { log?.writtenSeq ?? 0 }

  func write(_ event: RunEvent) { log?.write(event) }
  func flush() { log?.flush() }

  func began(job: Job, run: RunRecord, sha256: String?, _ opened: JobOpening) {
    guard let log else { return }
    log.write(
      .runStarted(job: job.name, number: run.number, manifest: job.manifestPath, manifestSHA256: sha256))
    let change = opened.compiled.change
    log.write(.planCompiled(change, transfers: change.added + change.kept + change.adjusted))
    for diagnostic in opened.diagnostics { log.write(.diagnostic(RecordedDiagnostic(diagnostic))) }
  }
}
