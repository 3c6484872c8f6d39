import Glibc

/// The whole file's SHA-256, calculated over the chunks from the first on while later ones still arrive.
actor PrefixHasher {
  private let dataFile: String
  private let record: SessionRecord
  private let pool: BlockingPool
  private var stream = SHA256Stream()
  /// Chunks that are in `stream`: all before this index.
  private var next = 0
  private var arrived: Set<Int>
  private var running: Task<Void, any Error>?
  private var digest: [UInt8]?

  /// - Parameter arrived: the chunks that are there already.
  init(dataFile: String, record: SessionRecord, arrived: Set<Int>, pool: BlockingPool) {
    self.arrived = arrived
    self.dataFile = dataFile
    self.record = record
    self.pool = pool
  }

  /// Says that a chunk is in the file for good.
  func offer(_ index: Int) {
    arrived.insert(index)
    resume()
  }

  /// The digest of the whole file, all of whose chunks are there.
  func finish() async throws -> [UInt8] {
    if let digest { return digest }
    arrived.formUnion(next..<max(next, record.chunkCount))
    resume()
    while let running { try await running.value }
    if let digest { return digest }
    let digest = stream.finish()
    self.digest = digest
    return digest
  }

  /// Starts again from nothing.
  func reset() async {
    try? await running?.value
    (stream, next, arrived, digest) = (SHA256Stream(), 0, [], nil)
  }

  private func resume() {
    guard running == nil, digest == nil, arrived.contains(next) else { return }
    running = Task { try await self.advance() }
  }

  private func advance() async throws {
    defer { running = nil }
    while arrived.contains(next) {
      let range = record.range(of: next)
      do {
        try await pool.run { [dataFile, stream] in try Self.add(range, of: dataFile, to: stream) }
      } catch {
        // Part of the chunk may be in the stream: only a fresh one can be trusted.
        arrived.formUnion(0..<next)
        (stream, next) = (SHA256Stream(), 0)
        throw error
      }
      arrived.remove(next)
      next += 1
    }
  }

  private static func add(_ range: ByteRange, of path: String, to stream: SHA256Stream) throws {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemError("open \(path)") }
    defer { close(descriptor) }
    let block = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 4096)
    defer { block.deallocate() }
    var offset = range.offset
    while offset < range.end {
      let count = pread(descriptor, block.baseAddress, min(block.count, range.end - offset), off_t(offset))
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw SystemError("read \(path)") }
      stream.update(UnsafeRawBufferPointer(rebasing: block[..<count]))
      offset += count
    }
  }
}
