import Endpoints
import HTTPClient
import JobModel
import LocalFiles

/// One read of a download's source: its bytes are staged, and its chunks recorded as they pass, or where the answer came with
/// a digest of its own, once that has proved them (RFC 9530, Content-Digest).
struct RangeReader {
  let intake: Intake
  /// nil for everything in one answer.
  let wanted: Range<Int64>?
  private let proof = RangeDigestCheck()

  init(_ intake: Intake, _ wanted: Range<Int64>?) {
    self.intake = intake
    self.wanted = wanted
  }

  nonisolated(nonsending) func read() async throws {
    let sink = PartSink(
      blocks: intake.context.local.blocks,
      decide: { try intake.open($0, wanted: wanted, proof) },
      moved: { try intake.moved($0) },
      record: { if !proof.keeps($0) { received($0) } },
      recordPart: { part in intake.decide { $0.begun(part) } }, now: intake.context.client.clock.now)
    do {
      try await intake.source.read(
        wanted, of: intake.machine.fetch.object, wantsDigest: intake.machine.fetch.provesRanges, into: sink)
      try sink.end()
      try await prove()
      intake.machine.fetch.finished(written: sink.isOpen ? sink.written : nil, busy: sink.busyShare)
    } catch {
      // What a broken connection brought was checked like the rest: it counts, and only the rest is asked for again.
      // One that can't be written is lost like the rest of its chunk.
      if wanted != nil, intake.machine.fetch.isRanged, Self.leavesGoodBytes(error) { try? keep(sink) }
      // What came before a connection broke can't be proved by the digest of all of it: the whole file's will.
      for chunk in proof.takeAll() { received(chunk) }
      intake.discard(sink.pending)
      intake.staged.breakOff(hashed: sink.hasHashedPending, isEmpty: intake.here == 0)
      throw error
    }
  }

  private func received(_ chunk: ChunkRecord) { intake.decide { $0.received(chunk) } }

  /// Writes and records what has come of an answer that broke off.
  private func keep(_ sink: PartSink) throws {
    if intake.staged.held != nil { sink.goOn(into: try intake.openPart()) }
    try sink.end()
  }

  private static func leavesGoodBytes(_ error: any Error) -> Bool {
    switch error {
    case is CancellationError: true
    case let fault as TransportError: [.networkUnreachable, .timeout].contains(fault.failure.code)
    case let failure as Failure: [.networkUnreachable, .timeout].contains(failure.code)
    default: false
    }
  }

  /// Records an answer's chunks if they are what it said; otherwise they are thrown away, and asked for again.
  private nonisolated(nonsending) func prove() async throws {
    let chunks = proof.takeAll()
    guard let promise = proof.promise, let first = chunks.first, let last = chunks.last else { return }
    let range = first.offset..<last.range.upperBound
    do {
      let found = try await intake.hash(range, promise.algorithm)
      guard found == promise.hex else {
        throw Failure(
          .integrityMismatch,
          "\(intake.source.place): bytes \(range.lowerBound)-\(range.upperBound - 1) arrived with another \(promise.algorithm.rawValue) than they were sent with",
          chunk: Int(range.lowerBound / intake.machine.fetch.chunkSize), expected: promise.hex, actual: found)
      }
    } catch {
      // It may have seen bytes that will come again.
      intake.staged.forgetHash()
      intake.discard(Int64(range.count))
      throw error
    }
    for chunk in chunks { received(chunk) }
  }
}
