import Foundation
import JobLedger
import JobModel
import Reporting

/// A ledger in a temporary folder with a transfer in each state; removed with the value.
final class SampleJob {
  static let signature = "SIGNATUREdeadbeef"
  static let password = "hunter2"
  static let start = 1_700_000_000.0
  let folder: String
  let ledger: JobLedger
  private(set) var run: RunRecord

  /// - Parameter withRunning: one transfer more, in flight.
  init(withRunning: Bool = false, extra: Int = 0) async throws {
    folder = NSTemporaryDirectory() + "haul-report-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    ledger = try JobLedger(folder: folder, mayMigrate: true)
    var ids = ["done", "same", "broken", "slow", "held", "gone", "waiting", "off", "orphan"]
    if withRunning { ids.append("moving") }
    ids += (0..<extra).map { "extra-\($0)" }
    _ = try ledger.compile(at: Self.start - 1) { add in
      for id in ids { try add(Self.planned(id), Array(Self.identity(id))) }
    }
    run = try ledger.startRun(id: "01RUN", overrides: [:], at: Self.start)
    let writer = LedgerWriter(ledger) { _ in }
    for (index, id) in ids.enumerated() {
      let (state, progress) = Self.standing(id)
      writer.submit(.state(seq: Int64(index + 1), state))
      if let progress { writer.submit(.progress(seq: Int64(index + 1), progress)) }
    }
    writer.submit(
      .diagnostic(
        run: run.number,
        Diagnostic(
          .warning, "redirected to https://h.example/a?sig=\(Self.signature)",
          at: SourceMark(file: "job.yaml", line: 12, column: 5), hint: "name the target itself")))
    try await writer.barrier()
    try writer.close()
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  /// The head of the run's report, as the run loop fills it.
  var head: ReportHead {
    var head = ReportHead(toolVersion: "0.1.0", jobName: "nightly")
    head.manifest = "jobs/nightly.yaml"
    head.manifestSHA256 = String(repeating: "ab", count: 32)
    head.host = "build-1"
    head.run = run
    head.outcome = .failed
    head.exitCode = 1
    head.endedAt = Self.start + 12.5
    head.attemptBytes = 900
    return head
  }

  /// Sets where a transfer of the job stands.
  func settle(_ id: String, _ state: TransferState, _ progress: TransferProgress) async throws {
    let page = try ledger.page(after: 0, onlyTouched: false, limit: 1000)
    guard let seq = page.first(where: { $0.id == id })?.seq else { return }
    let writer = LedgerWriter(ledger) { _ in }
    writer.submit(.state(seq: seq, state))
    writer.submit(.progress(seq: seq, progress))
    try await writer.barrier()
    try writer.close()
  }

  /// As if the run had found everything as it was: the ledger has no way to say so.
  func forgetTouched() throws {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [
      "python3", "-c",
      "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('UPDATE transfer SET touched = 0'); c.commit()",
      ledger.path,
    ]
    try process.run()
    process.waitUntilExit()
  }

  static func wire(_ transfer: LedgerTransfer) -> WirePlace {
    switch transfer.source {
    case .url(let url): ("http", url)
    case .local, .remote: ("session", nil)
    }
  }

  private static func identity(_ id: String) -> ArraySlice<UInt8> {
    (Array(id.utf8) + Array(repeating: 0, count: 8)).suffix(8)
  }

  private static func planned(_ id: String) -> PlannedTransfer {
    var settings = TransferSettings(direction: id == "slow" || id == "held" ? .upload : .download)
    settings.isEnabled = id != "off"
    settings.policyName = "office"
    settings.policy.proxy = .url("http://user:\(password)@proxy:3128")
    settings.policy.headers = [
      HeaderSetting(name: "Authorization", value: .text("Bearer \(password)")),
      HeaderSetting(name: "X-Key", value: .secret(.environment("KEY"))),
      HeaderSetting(name: "X-Api-Key", value: .text(password)),
      HeaderSetting(name: "X-Plain", value: .text("seen")),
    ]
    if id == "waiting" { (settings.chunkSize, settings.needs) = (.auto, ["slow"]) }
    let source: Place =
      settings.direction == .upload
      ? .local("in/\(id)") : .url("https://h.example/\(id)?X-Amz-Signature=\(signature) and more")
    return PlannedTransfer(
      id: id, source: source,
      destination: settings.direction == .upload ? .remote(endpoint: "store", path: id) : .local(id),
      destinationIdentity: id, settings: settings, expect: Expectation(),
      knownSize: id == "waiting" ? nil : 1000,
      mark: SourceMark(file: "job.yaml", line: 1, column: 1))
  }

  private static func standing(_ id: String) -> (TransferState, TransferProgress?) {
    var progress = TransferProgress()
    progress.attempts = 1
    progress.requests = 2
    progress.startedAt = start + 1
    progress.updatedAt = start + 2
    progress.duration = 0.25
    switch id {
    case "done":
      progress.size = 1200
      progress.chunkSize = 500
      (progress.chunksTotal, progress.chunksCompleted, progress.chunksReused) = (3, 3, 1)
      (progress.transferred, progress.reused, progress.contiguousBytes) = (700, 500, 1200)
      progress.digests = [.sha256: String(repeating: "0f", count: 32)]
      progress.verification = [Verification("sha256", .server, .match)]
      progress.remote.etag = "\"abc\""
      progress.endedAt = start + 3
      return (.completed, progress)
    case "same":
      progress.size = 1000
      progress.reused = 1000
      return (.upToDate(.adopted), progress)
    case "broken":
      progress.retries = 1
      progress.discarded = 200
      progress.transferred = 200
      progress.failure = Failure(
        .integrityMismatch, "the bytes of https://h.example/broken?X-Amz-Signature=\(signature) differ",
        httpStatus: 200, chunk: 1, expected: "aa", actual: "bb")
      progress.failedAt = start + 4
      return (.failed, progress)
    case "slow":
      progress.retries = 8
      progress.sessionState = .open
      progress.failure = Failure(.timeout, "no answer in 60 s")
      return (.paused(.retries), progress)
    case "held":
      progress.failure = Failure(.timeout, "an old story")
      return (.paused(.user), progress)
    case "gone": return (.canceled, nil)
    case "waiting": return (.queued(.needs("slow")), nil)
    case "off": return (.skipped(.disabled), nil)
    case "orphan": return (.skipped(.needs("broken")), nil)
    case "moving":
      progress.size = 1000
      return (.running, progress)
    default: return (.completed, progress)
    }
  }
}
