import Admission
import Endpoints
import Foundation
import JobLedger
import JobModel
import LocalFiles
import Synchronization
import Testing

@testable import HTTPClient
@testable import Transfers

/// What the parts of one download work with: a transfer on record in a temporary folder, and a source in memory.
final class DownloadBench {
  let path = FileManager.default.temporaryDirectory.path + "/haul-download-" + UUID().uuidString
  let source: MemorySource
  let context: TransferContext
  let record: TransferRecord
  let intake: Intake
  private let writer: LedgerWriter
  private let planned: PlannedTransfer
  private let ticking = TickingClock()
  /// Seconds that pass each time that somebody asks for the time.
  var tick: Double {
    get { ticking.tick }
    set { ticking.tick = newValue }
  }

  init(
    _ bytes: [UInt8] = [], to destination: String = "out/a", chunkSize: Int64 = 10,
    expect: JobModel.Expectation = JobModel.Expectation(),
    change: (inout TransferSettings) -> Void = { _ in }, protected: ProtectedFiles = ProtectedFiles(),
    ownerElsewhere: (@Sendable (FileFacts) -> String?)? = nil
  ) throws {
    try FileManager.default.createDirectory(atPath: path + "/out", withIntermediateDirectories: true)
    source = MemorySource(bytes)
    let ledger = try JobLedger(folder: path, mayMigrate: true)
    writer = LedgerWriter(ledger) { Issue.record("\($0)") }
    let folder = try Folder.open(path)
    context = TransferContext(
      ScriptedTransport { _ in .broken() }, writer, ledger: ledger, folder: folder, protected: protected,
      clock: EngineClock(now: { [ticking] in ticking.now() }, random: { 0.5 }), ownerElsewhere: ownerElsewhere
    )
    var settings = TransferSettings(direction: .download)
    settings.chunkSize = .bytes(chunkSize)
    change(&settings)
    let entry = PlannedTransfer(
      id: "t", source: Place("http://h/a"), destination: Place(destination), destinationIdentity: destination,
      settings: settings, expect: expect, mark: SourceMark(file: "job", line: 1, column: 1),
      takesSourceName: destination.hasSuffix("/"))
    planned = entry
    _ = try ledger.compile { add in try add(entry, [UInt8](repeating: 1, count: 8)) }
    _ = try ledger.startRun(id: "run", overrides: [:], at: 1)
    record = TransferRecord(try #require(try ledger.transfer(1)), context: context, stop: StopFlag())
    let live = LiveTransfer(seq: 1, id: "t", direction: .download)
    let requester = Requester(
      context.client, endpoint: nil, settings: settings, throttle: Throttle(settings.policy))
    intake = Intake(record, source: source, requester: requester, live: live)
  }

  deinit {
    try? writer.close()
    try? FileManager.default.removeItem(atPath: path)
  }

  /// The file that the transfer makes, claimed.
  func destination(named name: String? = nil) throws -> DestinationFile {
    var file = try DestinationFile(of: record, source: source, serverName: name)
    try file.take()
    intake.destination = file
    return file
  }

  /// Records that another transfer put a file at a path.
  ///
  /// - Parameter isLive: it has not left the plan since.
  func add(_ id: String, wrote file: FileFacts, at path: String, isLive: Bool) async throws {
    var other = planned
    (other.id, other.destination, other.destinationIdentity) = (id, Place(path), path)
    let ledger = context.run.ledger
    func plan(_ transfers: [PlannedTransfer]) throws {
      _ = try ledger.compile { add in
        for (index, transfer) in transfers.enumerated() {
          try add(transfer, [UInt8](repeating: UInt8(index + 1), count: 8))
        }
      }
    }
    try plan([planned, other])
    var progress = TransferProgress()
    (progress.completedAt, progress.destination) = (1, file)
    writer.submit(.progress(seq: 2, progress))
    try await writer.barrier()
    if !isLive { try plan([planned]) }
  }

  func write(_ name: String, _ bytes: [UInt8]) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: path + "/" + name))
  }

  func read(_ name: String) -> [UInt8]? {
    FileManager.default.contents(atPath: path + "/" + name).map { [UInt8]($0) }
  }

  var names: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: path + "/out")) ?? []).sorted()
  }

  func records() async throws -> [ChunkRecord] {
    try await writer.barrier()
    return try context.run.ledger.chunks(of: 1)
  }

  /// The chunks on record.
  func chunks() async throws -> [Range<Int64>] { try await records().map(\.range) }
}

/// Time that passes as it is asked for.
final class TickingClock: Sendable {
  private let state = Mutex((now: 1_700_000_000.0, tick: 0.0))

  var tick: Double {
    get { state.withLock { $0.tick } }
    set { state.withLock { $0.tick = newValue } }
  }

  func now() -> Double {
    state.withLock { state in
      state.now += state.tick
      return state.now
    }
  }
}

/// An object in memory that can be made to err. Used by one test alone.
final class MemorySource: RemoteSource {
  var bytes: [UInt8]
  var object: RemoteObject
  /// The next reads break off after so many bytes; nil: they do not.
  var breaks: [Int?] = []
  /// How they break off.
  var fault = Failure(.networkUnreachable, "broken")
  /// Bytes that come at once; nil for all.
  var pieces: Int?
  /// What the reads come with.
  var digest: RangeDigest?
  private(set) var reads: [Range<Int64>?] = []
  private(set) var probes = 0

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    object = RemoteObject()
    object.size = Int64(bytes.count)
    object.etag = "\"1\""
  }

  let place = "mem://h/a"
  let origin = "mem://h"
  let name = "a"
  let promisedDigests: Set<DigestAlgorithm> = []
  func remoteID(of object: RemoteObject) -> String? { nil }
  func pinned(_ object: RemoteObject) -> RemoteObject? { nil }
  nonisolated(nonsending) func describe(_ known: RemoteObject) async throws -> RemoteObject? { nil }
  nonisolated(nonsending) func probe() async throws -> RemoteObject {
    probes += 1
    return object
  }

  nonisolated(nonsending) func read(
    _ range: Range<Int64>?, of object: RemoteObject, wantsDigest: Bool, into receiver: any ByteReceiver
  ) async throws {
    reads.append(range)
    let size = Int64(bytes.count)
    let wanted = (range ?? 0..<size).clamped(to: 0..<size)
    try receiver.open(
      Opening(range == nil ? .whole(length: size) : .bytes(wanted), seen: self.object, digest: digest))
    let broken = breaks.isEmpty ? nil : breaks.removeFirst()
    let given = bytes[Int(wanted.lowerBound)..<Int(wanted.upperBound)].prefix(broken ?? .max)
    var rest = given
    while !rest.isEmpty {
      try Array(rest.prefix(pieces ?? .max)).withUnsafeBytes { try receiver.take($0) }
      rest = rest.dropFirst(pieces ?? .max)
    }
    if broken != nil { throw fault }
  }

  nonisolated(nonsending) func digest(
    of range: Range<Int64>, of object: RemoteObject
  ) async throws -> RangeDigest? { nil }
}
