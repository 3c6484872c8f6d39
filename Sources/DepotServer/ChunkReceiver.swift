import HTTPTypes
import HummingbirdCore
import NIOCore

/// Takes one chunk's body: hashes and writes it block by block while the next block arrives.
struct ChunkReceiver {
  struct Receipt: Encodable {
    var index: Int
    var sha256: String
  }

  /// Bytes that are hashed and written at once.
  private static let block = 512 << 10

  let session: UploadSession
  let index: Int
  let range: ByteRange
  /// What `X-Chunk-Hash` says, in lower-case hexadecimal.
  let claimed: String?
  let call: Call
  let pool: BlockingPool

  func receive(_ writer: borrowing ResponseWriter) async throws -> Answer {
    let ticket = try await pool.run { [session, index] in try session.begin(index) }
    switch ticket {
    case .recorded(let digest):
      // Known to be other bytes: no need to have them sent.
      if let claimed, claimed != Hex.encode(digest) { throw conflict(digest) }
      try await call.invite(writer)
      let sent = try await stream(into: nil)
      guard sent == digest else { throw conflict(digest) }
      return .json(Receipt(index: index, sha256: Hex.encode(digest)))
    case .write(let lease):
      do {
        try await call.invite(writer)
        let digest = try await stream(into: lease)
        try await pool.run { [session] in try session.accept(lease, digest) }
        await session.hasher.offer(index)
        return .json(Receipt(index: index, sha256: Hex.encode(digest)), status: .created)
      } catch {
        session.abandon(lease)
        throw error
      }
    }
  }

  /// Reads the body, checks its length and its hash, and writes it where there is a lease. Returns its hash.
  private func stream(into lease: ChunkLease?) async throws -> [UInt8] {
    let hash = SHA256Stream()
    var writing: Task<Void, any Error>?
    var batch: [ByteBuffer] = []
    var (batched, received) = (0, 0)
    do {
      for try await part in call.body() {
        var buffer = part
        BitFlip.apply(call.faults[\.flipUploadBit], to: &buffer, at: received)
        received += buffer.readableBytes
        call.tally.addIn(buffer.readableBytes)
        guard received <= range.count else { throw length("more than \(range.count)") }
        try await hinder(buffer.readableBytes, received)
        batch.append(buffer)
        batched += buffer.readableBytes
        if batched >= Self.block {
          try await writing?.value
          writing = write(batch, at: range.offset + received - batched, hash, lease)
          (batch, batched) = ([], 0)
        }
      }
      try await writing?.value
      try await write(batch, at: range.offset + received - batched, hash, lease).value
    } catch {
      // The block under way still uses the hash and the lease.
      _ = await writing?.result
      throw error
    }
    guard received == range.count else { throw length("\(received)") }
    let digest = hash.finish()
    if let claimed, claimed != Hex.encode(digest) { throw mismatch(digest) }
    return digest
  }

  private func write(
    _ batch: [ByteBuffer], at offset: Int, _ hash: SHA256Stream, _ lease: ChunkLease?
  ) -> Task<Void, any Error> {
    Task {
      try await pool.run {
        var offset = offset
        for buffer in batch {
          try buffer.withUnsafeReadableBytes { bytes in
            hash.update(bytes)
            try lease?.write(bytes, at: offset)
          }
          offset += buffer.readableBytes
        }
      }
    }
  }

  /// The faults of a body that comes in.
  private func hinder(_ count: Int, _ received: Int) async throws {
    if let rate = call.faults[\.uploadRate] {
      try await Task.sleep(for: .seconds(Double(count) / Double(max(1, rate))))
    }
    if let limit = call.faults[\.dropUploadAfter], received >= limit { throw ConnectionDropped() }
  }

  private func length(_ got: String) -> Problem {
    Problem(400, "CHUNK_LENGTH", "Content-Range promises \(range.count) bytes, the body has \(got)")
  }

  private func mismatch(_ digest: [UInt8]) -> Problem {
    var problem = Problem(
      422, "CHUNK_HASH_MISMATCH", "the body of chunk \(index) has another SHA-256 than X-Chunk-Hash")
    (problem.expected, problem.actual) = (claimed, Hex.encode(digest))
    return problem
  }

  private func conflict(_ digest: [UInt8]) -> Problem {
    var problem = Problem(409, "CHUNK_CONFLICT", "chunk \(index) is already here with other bytes")
    problem.expected = Hex.encode(digest)
    problem.actual = claimed
    return problem
  }
}
