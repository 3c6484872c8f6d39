import Admission
import Endpoints
import Foundation
import JobLedger
import JobModel
import LocalFiles
import Testing

@testable import HTTPClient
@testable import Transfers

/// What the parts of one upload work with: a transfer on record in a temporary folder, and a scripted network.
final class UploadBench {
  let path = FileManager.default.temporaryDirectory.path + "/haul-upload-" + UUID().uuidString
  let transport: ScriptedTransport
  let context: TransferContext
  let requester: Requester
  let sink: HTTPSink
  let record: TransferRecord
  private let writer: LedgerWriter

  init(
    _ driver: any EndpointDriver = SessionDriver(), _ name: String = "a.txt", source: [UInt8] = [],
    response: @escaping @Sendable (Sent) -> Reply = { _ in .broken() },
    change: (inout TransferSettings) -> Void = { _ in }
  ) throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try Data(source).write(to: URL(fileURLWithPath: path + "/src"))
    transport = ScriptedTransport(response)
    let ledger = try JobLedger(folder: path, mayMigrate: true)
    writer = LedgerWriter(ledger) { Issue.record("\($0)") }
    let folder = try Folder.open(path)
    context = TransferContext(transport, writer, ledger: ledger, folder: folder, id: "01RUN")
    var settings = TransferSettings(direction: .upload)
    settings.chunkSize = .bytes(1000)
    settings.policy.retryAttempts = 2
    change(&settings)
    let entry = PlannedTransfer(
      id: "t", source: Place("src"), destination: Place("api:" + name), destinationIdentity: name,
      settings: settings, expect: JobModel.Expectation(), mark: SourceMark(file: "job", line: 1, column: 1),
      takesSourceName: false)
    _ = try ledger.compile { add in try add(entry, [UInt8](repeating: 1, count: 8)) }
    _ = try ledger.startRun(id: "01RUN", overrides: [:], at: 1_700_000_000)
    record = TransferRecord(try #require(try ledger.transfer(1)), context: context, stop: StopFlag())
    let remote = try driver.upload(name, at: try #require(WebURL("http://h/api")))
    requester = Requester(
      context.client, endpoint: nil, remote: remote, settings: settings,
      throttle: Throttle(settings.policy))
    sink = HTTPSink(remote, requester)
  }

  deinit {
    try? writer.close()
    try? FileManager.default.removeItem(atPath: path)
  }

  var source: String { path + "/src" }

  var scope: UploadScope {
    UploadScope(
      record: record, sink: sink, requester: requester,
      live: LiveTransfer(seq: 1, id: "t", direction: .upload))
  }

  func sending() throws -> SendingSource {
    try SendingSource(SourceFile(.reading(source)), "src", scope)
  }

  func chunks() async throws -> [Int64] {
    try await context.run.writer.barrier()
    return try context.run.ledger.chunks(of: 1).map(\.offset).sorted()
  }

  func write(_ bytes: [UInt8]) throws { try Data(bytes).write(to: URL(fileURLWithPath: source)) }

  /// What a failing piece of work failed with.
  nonisolated(nonsending) static func failure(
    _ work: nonisolated(nonsending) () async throws -> Void
  ) async throws -> Failure? {
    do { try await work() } catch { return try Requester.failure(error) }
    return nil
  }
}
