import Maintenance
import Scheduler

@testable import HTTPClient
import Endpoints
import Foundation
import JobLedger
import JobModel
import LocalFiles
import Synchronization
import Testing
import Transfers

/// A job in a temporary folder: a real ledger, real files, a scripted network. One `run` is one attempt.
final class Rig: Sendable {
  struct Outcome {
    var transfers: [LedgerTransfer]
    var sent: [Sent]
    var delays: [Double]
    var events: [EngineEvent]

    var first: LedgerTransfer? { transfers.first }
    var state: TransferState? { transfers.first?.state }
    var progress: TransferProgress { transfers.first?.progress ?? TransferProgress() }
    var code: ErrorCode? { transfers.first?.progress.failure?.code }
  }

  let path: String
  private let settings: TransferSettings
  private let secrets = Atomic<Int>(0)

  init(_ direction: Verb, chunkSize: Int64 = 1000, change: (inout TransferSettings) -> Void = { _ in })
    throws
  {
    path = FileManager.default.temporaryDirectory.path + "/haul-engine-" + UUID().uuidString
    for folder in ["/state", "/work"] {
      try FileManager.default.createDirectory(atPath: path + folder, withIntermediateDirectories: true)
    }
    var settings = TransferSettings(direction: direction)
    settings.chunkSize = .bytes(chunkSize)
    settings.policy.chunksInFlight = 2
    settings.policy.retryAttempts = 3
    settings.policy.retryJitter = .none
    change(&settings)
    self.settings = settings
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func write(_ name: String, _ bytes: [UInt8]) throws {
    let url = URL(fileURLWithPath: path + "/work/" + name)
    try FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(bytes).write(to: url)
  }

  func read(_ name: String) -> [UInt8]? {
    FileManager.default.contents(atPath: path + "/work/" + name).map { Array($0) }
  }

  /// All files below the work folder, part files included.
  var files: [String] {
    (FileManager.default.subpaths(atPath: path + "/work") ?? []).filter {
      var isFolder: ObjCBool = false
      return FileManager.default.fileExists(atPath: path + "/work/" + $0, isDirectory: &isFolder)
        && !isFolder.boolValue
    }.sorted()
  }

  func ledger() throws -> JobLedger { try JobLedger(folder: path + "/state", mayMigrate: true) }

  /// Changes what is recorded between two attempts.
  func alter(_ change: (inout TransferProgress) -> Void, state: TransferState? = nil) async throws {
    let ledger = try ledger()
    let writer = LedgerWriter(ledger) { Issue.record("\($0)") }
    var progress = try #require(try ledger.transfer(1)?.progress)
    change(&progress)
    writer.submit(.progress(seq: 1, progress))
    if let state { writer.submit(.state(seq: 1, state)) }
    try await writer.barrier()
    try writer.close()
  }

  func run(
    from source: String, to destination: String, expect: JobModel.Expectation = JobModel.Expectation(),
    endpoint: Authentication = .none, objectWords: [String: String] = [:], boot: String = "boot",
    now: Double = 1_700_000_000,
    changing: (inout TransferSettings) -> Void = { _ in }, stopAt: Int? = nil,
    stopAfter: @escaping @Sendable (EngineEvent) -> Bool = { _ in false },
    buffers: BufferBudget = BufferBudget(),
    response: @escaping @Sendable (Sent) -> Reply
  ) async throws -> Outcome {
    let ledger = try ledger()
    var settings = settings
    changing(&settings)
    let entry = PlannedTransfer(
      id: "t", source: Place(source), destination: Place(destination), destinationIdentity: destination,
      settings: settings, expect: expect, mark: SourceMark(file: "job", line: 1, column: 1),
      takesSourceName: destination.hasSuffix("/"))
    _ = try ledger.compile { add in try add(entry, [UInt8](repeating: 1, count: 8)) }
    let last = try ledger.lastRun()
    let run: RunRecord
    if let last, !last.isOver {
      run = try ledger.startAttempt(run: last.number, at: now)
    } else {
      run = try ledger.startRun(id: "run\(last?.number ?? 0)", overrides: [:], at: now)
    }
    let running = Mutex<TransferEngine?>(nil)
    let transport = ScriptedTransport { sent in
      if sent.number == stopAt, let engine = running.withLock({ $0 }) {
        engine.assumeIsolated { $0.stop(.interrupted) }
      }
      return response(sent)
    }
    let events = Mutex<[EngineEvent]>([])
    let writer = LedgerWriter(ledger) { Issue.record("\($0)") }
    let folder = try Folder.open(path + "/work")
    let api = Endpoint(
      name: "api", driver: SessionDriver(), url: "http://h/api", authentication: endpoint)
    let web = Endpoint(name: "web", driver: HTTPDriver(), url: "http://h/f", authentication: endpoint)
    let tus = Endpoint(
      name: "tus", driver: TusDriver(), url: "http://h/files", authentication: endpoint)
    let signed = Endpoint(
      name: "signed", driver: PresignedDriver(), url: "http://h/b", authentication: endpoint)
    var bucket = S3Settings()
    (bucket.bucket, bucket.addressing, bucket.multipartThreshold) = ("b", .path, 5 << 20)
    let store = Endpoint(
      name: "store", driver: S3Driver(bucket), url: "http://h", authentication: endpoint)
    let other = Endpoint(
      name: "other", driver: S3Driver(bucket), url: "http://o", authentication: endpoint,
      objectWords: objectWords)
    let context = TransferContext(
      transport, writer, ledger: ledger, folder: folder, run: run.number, boot: boot,
      endpoints: ["api": api, "web": web, "signed": signed, "tus": tus, "store": store, "other": other],
      secrets: SecretSource { [self] _ in
        Secret("token\(secrets.add(1, ordering: .relaxed).newValue)")
      },
      clock: EngineClock(now: { now }, random: { 0.5 }), buffers: buffers,
      events: { event in
        events.withLock { $0.append(event) }
        if stopAfter(event), let engine = running.withLock({ $0 }) {
          engine.assumeIsolated { $0.stop(.interrupted) }
        }
      })
    let maintenance = MaintenanceContext(context)
    let engine = TransferEngine(
      context, maintenance: maintenance, network: .test, selected: nil, failFast: false)
    running.withLock { $0 = engine }
    // The network knows the engine, which knows the network: neither would ever end.
    defer { running.withLock { $0 = nil } }
    try await engine.run()
    try await SyncPass(maintenance).run()
    try writer.close()
    let counts = try ledger.counts()
    let end = counts.outcome(endedByFailFast: false)
    try ledger.endAttempt(
      run: run.number, outcome: end.outcome, exitCode: end.status.rawValue,
      isOver: counts.isOver(endedByFailFast: false), bytesTransferred: 0, scope: nil,
      at: now)
    return Outcome(
      transfers: try ledger.page(after: 0, onlyTouched: false, limit: 10), sent: transport.sent,
      delays: transport.delays, events: events.withLock { $0 })
  }
}

/// Bytes that differ from place to place and from seed to seed.
func pattern(_ count: Int, seed: Int = 0) -> [UInt8] {
  (0..<count).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 7 ^ $0 &+ seed &* 97) }
}
