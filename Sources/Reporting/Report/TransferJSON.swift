import JobLedger
import JobModel

/// Where a transfer's bytes go over the wire: the protocol's word, and its URL where it can be told.
package typealias WirePlace = (protocol: String, url: String?)

/// Writes the transfers of a report.
final class TransferJSON {
  private let stream: JSONStream
  private let createdAt: Double?
  private let describe: (LedgerTransfer) -> WirePlace
  private let resumesAt: (LedgerTransfer) -> Double?
  /// Policies are shared by many transfers and long: each is written once and then copied.
  private var policies: [Int64: [UInt8]] = [:]

  init(
    _ stream: JSONStream, createdAt: Double?, describe: @escaping (LedgerTransfer) -> WirePlace,
    resumesAt: @escaping (LedgerTransfer) -> Double? = { _ in nil }
  ) {
    self.resumesAt = resumesAt
    self.stream = stream
    self.createdAt = createdAt
    self.describe = describe
  }

  func write(_ transfer: LedgerTransfer) throws {
    let progress = transfer.progress
    let wire = describe(transfer)
    try stream.beginObject()
    try stream.member("id", .string(transfer.id))
    try stream.member("direction", .string(transfer.settings.direction.rawValue))
    try stream.member("state", .string(transfer.state.word))
    try stream.member("reason", .text(transfer.state.reason))
    if let time = resumesAt(transfer) { try stream.member("resumes_at", CommonJSON.time(time)) }
    try stream.member("session", .string(progress.sessionState.rawValue))
    try stream.member("source", .string(Masking.place(transfer.source)))
    try stream.member(
      "destination", .string(transfer.progress.resolvedDestination ?? Masking.place(transfer.destination)))
    try stream.member("url", .text(wire.url.map(Masking.withoutQuery)))
    try stream.member("protocol", .string(wire.protocol))
    try stream.member("remote_id", CommonJSON.masked(progress.remoteID))
    try stream.member("version", .text(progress.remote.version))
    try stream.member("etag", .text(progress.remote.etag))
    try stream.member("content_type", .text(progress.remote.contentType ?? transfer.settings.contentType))
    try stream.member("size", .int(progress.size ?? transfer.knownSize))
    try stream.member("chunk_size", .int(chunkSize(transfer)))
    try stream.member("chunks", chunks(progress))
    try stream.member("contiguous_bytes", .integer(progress.contiguousBytes))
    try stream.member(
      "bytes",
      [
        "transferred": .integer(progress.transferred), "reused": .integer(progress.reused),
        "discarded": .integer(progress.discarded),
      ])
    try stream.member("digests", digests(progress.digests))
    try stream.member("verification", .array(progress.verification.map(verification)))
    try stream.beginObject("policy")
    try stream.member("name", .text(transfer.settings.policyName))
    try stream.member("effective", written: policy(transfer))
    stream.end()
    try stream.member("attempts", .int(progress.attempts))
    try stream.member("retries", .int(progress.retries))
    try stream.member("requests", .int(progress.requests))
    try stream.member("max_chunk_attempts", .int(progress.maxChunkAttempts))
    try stream.member("last_http_status", .int(progress.lastHTTPStatus))
    try stream.member("created_at", CommonJSON.time(createdAt))
    try stream.member("updated_at", CommonJSON.time(progress.updatedAt))
    try stream.member("started_at", CommonJSON.time(progress.startedAt))
    try stream.member("ended_at", CommonJSON.time(progress.endedAt))
    try stream.member("duration_s", .double(progress.startedAt == nil ? nil : progress.duration))
    try stream.member(
      "error", transfer.standingFailure.map { CommonJSON.error($0, at: progress.failedAt) } ?? .null)
    stream.end()
  }

  /// The size that is in use; nil where it is another one than was asked for, and nobody has kept it.
  private func chunkSize(_ transfer: LedgerTransfer) -> Int64? {
    let progress = transfer.progress
    if let session = progress.session, session.chunkSize > 0 { return session.chunkSize }
    let size = progress.size ?? transfer.knownSize
    let wanted: Int64? =
      switch transfer.settings.chunkSize {
      case .bytes(let bytes): bytes
      case .auto: size.map { ChunkLayout.automatic(size: $0) }
      }
    guard let used = progress.chunkSize ?? wanted else { return nil }
    guard let size, progress.chunksTotal > 0 else { return used }
    return ChunkLayout(size: size, chunkSize: used).count == progress.chunksTotal ? used : nil
  }

  private func chunks(_ progress: TransferProgress) -> JSON {
    // Nobody knows how many before the size is known.
    let isKnown = progress.chunksTotal > 0 || progress.size != nil
    return [
      "total": isKnown ? .int(progress.chunksTotal) : .null, "completed": .int(progress.chunksCompleted),
      "reused": .int(progress.chunksReused),
    ]
  }

  private func digests(_ digests: [DigestAlgorithm: String]) -> JSON {
    .object(
      DigestAlgorithm.allCases.compactMap { algorithm in
        digests[algorithm].map { .init(algorithm.rawValue, .string($0)) }
      })
  }

  private func verification(_ check: Verification) -> JSON {
    [
      "check": .string(check.check), "against": .string(check.against.rawValue),
      "result": .string(check.result.rawValue),
    ]
  }

  private func policy(_ transfer: LedgerTransfer) -> [UInt8] {
    if let known = policies[transfer.profile] { return known }
    var bytes: [UInt8] = []
    PolicyJSON.write(transfer.settings.policy.masked).write(to: &bytes, indent: stream.indent)
    // Plans whose every transfer has a policy of its own must not fill the memory.
    if policies.count >= 256 { policies.removeAll() }
    policies[transfer.profile] = bytes
    return bytes
  }
}
