import Endpoints
import Foundation
import HTTPClient
import JobLedger
import JobModel
import LocalFiles
import Synchronization
import Testing

@testable import Maintenance
@testable import Transfers

/// What the parts of the engine that belong to no one transfer work with: a plan on record in a temporary folder, a
/// scripted network, a clock that stands still until it is moved.
final class PlanBench: Sendable {
  /// One transfer of the plan: an upload where its destination names an endpoint.
  struct Line: Sendable {
    var id: String
    var from = "http://h/a"
    var to = "out/a"
    var expect = JobModel.Expectation()
    var change: @Sendable (inout TransferSettings) -> Void = { _ in }
  }

  /// What changes, and is told.
  private final class World: Sendable {
    let now = Mutex(PlanBench.began)
    let events = Mutex<[EngineEvent]>([])
  }

  static let began = 1_700_000_000.0
  let path = FileManager.default.temporaryDirectory.path + "/haul-plan-" + UUID().uuidString
  let transport: ScriptedTransport
  let ledger: JobLedger
  let context: TransferContext
  private let world = World()

  /// - Parameter response: asked by the endpoints `api` (sessions) and `store` (S3), and by any URL.
  init(
    _ lines: [Line], limits: JobLimits = JobLimits(),
    response: @escaping @Sendable (Sent) -> Reply = { _ in .status(404) }
  ) throws {
    try FileManager.default.createDirectory(atPath: path + "/out", withIntermediateDirectories: true)
    transport = ScriptedTransport(response)
    ledger = try JobLedger(folder: path, mayMigrate: true)
    var bucket = S3Settings()
    (bucket.bucket, bucket.addressing, bucket.multipartThreshold) = ("b", .path, 5 << 20)
    let world = world
    context = TransferContext(
      transport, LedgerWriter(ledger) { Issue.record("\($0)") }, ledger: ledger,
      folder: try Folder.open(path), id: "run",
      endpoints: [
        "api": Endpoint(name: "api", driver: SessionDriver(), url: "http://h/api"),
        "store": Endpoint(name: "store", driver: S3Driver(bucket), url: "http://s"),
      ],
      clock: EngineClock(now: { world.now.withLock { $0 } }, random: { 0.5 }), limits: limits,
      events: { event in world.events.withLock { $0.append(event) } })
    try plan(lines)
    _ = try ledger.startRun(id: "run", overrides: [:], at: Self.began)
  }

  deinit {
    try? context.run.writer.close()
    try? FileManager.default.removeItem(atPath: path)
  }

  /// Puts these into the plan; what it had besides retires.
  func plan(_ lines: [Line]) throws {
    _ = try ledger.compile { add in
      for line in lines {
        var settings = TransferSettings(direction: Place(line.to).localPath == nil ? .upload : .download)
        settings.policy.retryAttempts = 1
        line.change(&settings)
        let entry = PlannedTransfer(
          id: line.id, source: Place(line.from), destination: Place(line.to), destinationIdentity: line.to,
          settings: settings, expect: line.expect,
          mark: SourceMark(file: "job", line: 1, column: 1), takesSourceName: false)
        try add(entry, Array((line.id + "        ").utf8.prefix(8)))
      }
    }
  }

  var maintenance: MaintenanceContext { MaintenanceContext(context) }
  var now: Double { world.now.withLock { $0 } }
  var events: [EngineEvent] { world.events.withLock { $0 } }
  var remarks: [String] {
    events.compactMap { if case .diagnostic(let diagnostic) = $0 { diagnostic.message } else { nil } }
  }
  var methods: [String] { transport.sent.map(\.method) }

  func pass(_ seconds: Double) { world.now.withLock { $0 += seconds } }

  func transfer(_ seq: Int64) throws -> LedgerTransfer { try #require(try ledger.transfer(seq)) }

  /// Records these changes.
  nonisolated(nonsending) func record(_ changes: LedgerChange...) async throws {
    for change in changes { context.run.writer.submit(change) }
    try await context.run.writer.barrier()
  }

  /// Changes what is on record of a transfer.
  nonisolated(nonsending) func alter(
    _ seq: Int64, _ state: TransferState? = nil, _ change: (inout TransferProgress) -> Void
  ) async throws {
    var progress = try transfer(seq).progress
    change(&progress)
    context.run.writer.submit(.progress(seq: seq, progress))
    if let state { context.run.writer.submit(.state(seq: seq, state)) }
    try await context.run.writer.barrier()
  }

  func write(_ name: String, _ bytes: [UInt8]) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: path + "/" + name))
  }

  func makeFolder(_ name: String) throws {
    try FileManager.default.createDirectory(atPath: path + "/" + name, withIntermediateDirectories: true)
  }

  func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: path + "/" + name) }

  /// Takes the place of what has the name.
  func move(_ name: String, _ other: String) throws {
    guard rename(path + "/" + name, path + "/" + other) == 0 else {
      throw Failure(.ioError, "errno \(errno)")
    }
  }

  func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: path + "/" + name) }

  /// What identifies a file that is there.
  func facts(_ name: String) throws -> FileFacts { try OpenFile.reading(path + "/" + name).facts() }
}
