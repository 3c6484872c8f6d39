import Glibc

/// One upload in progress (or finished): its record, the chunks it holds, and who is writing which.
///
/// What blocks here is small file work; callers are on the pool's threads.
final class UploadSession: Sendable {
  /// What a chunk's request is to do.
  enum Ticket {
    /// It is here already, with this digest.
    case recorded([UInt8])
    case write(ChunkLease)
  }

  struct State {
    var record: SessionRecord
    var chunks: [Int: [UInt8]]
    var leases: [Int: ChunkLease] = [:]
    var isGone = false
    var finishing: Task<Void, Never>?
  }

  let id: String
  let folder: String
  let hasher: PrefixHasher
  let state: Locked<State>

  init(record: SessionRecord, chunks: [Int: [UInt8]], folder: String, pool: BlockingPool) {
    id = record.id
    self.folder = folder
    state = Locked(State(record: record, chunks: chunks))
    hasher = PrefixHasher(dataFile: folder + "/data", record: record, arrived: Set(chunks.keys), pool: pool)
  }

  var isFinishing: Bool { state.withLock { $0.finishing != nil } }

  /// Makes the folder of a new session: a sparse data file, an empty journal, and last the record.
  static func create(_ record: SessionRecord, folder: String, pool: BlockingPool) throws -> UploadSession {
    guard mkdir(folder, 0o700) == 0 else { throw SystemError("create \(folder)") }
    do {
      let data = open(folder + "/data", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
      guard data >= 0 else { throw SystemError("create \(folder)/data") }
      defer { close(data) }
      guard ftruncate(data, off_t(record.fileSize)) == 0 else {
        throw SystemError("make room for \(record.fileSize) bytes in \(folder)/data")
      }
      try record.save(in: folder)
    } catch {
      // A client that waits for a full disk to be emptied asks often.
      Disk.removeFolder(folder)
      throw error
    }
    return UploadSession(record: record, chunks: [:], folder: folder, pool: pool)
  }

  var record: SessionRecord { state.withLock { $0.record } }
  var dataFile: String { folder + "/data" }
  var journal: ChunkJournal { ChunkJournal(path: folder + "/journal") }
  var received: [Int] { state.withLock { Array($0.chunks.keys) }.sorted() }
  var missing: [Int] {
    state.withLock { state in (0..<state.record.chunkCount).filter { state.chunks[$0] == nil } }
  }

  /// Fails where the session is over: removed, taken over or expired.
  func requireLive() throws {
    try state.withLock { try Self.requireLive($0) }
  }

  private static func requireLive(_ state: State) throws {
    if state.isGone || state.record.replacedBy != nil || state.record.isExpired {
      throw over
    }
  }

  static let over = Problem(410, "SESSION_EXPIRED", "the session has ended; create a new one")

  /// Begins a chunk. A request that was sending the same chunk loses its right to write.
  func begin(_ index: Int) throws -> Ticket {
    try state.withLock { state in
      try Self.requireLive(state)
      if let digest = state.chunks[index] { return .recorded(digest) }
      let lease = try ChunkLease(index: index, dataFile: dataFile)
      state.leases[index]?.supersede()
      state.leases[index] = lease
      return .write(lease)
    }
  }

  /// The chunk's bytes are written and their hash is right: from here on it counts.
  func accept(_ lease: ChunkLease, _ digest: [UInt8]) throws {
    try state.withLock { state in
      try Self.requireLive(state)
      guard state.leases[lease.index] === lease else { throw ChunkLease.superseded(lease.index) }
      try journal.append(lease.index, digest)
      state.chunks[lease.index] = digest
      state.leases[lease.index] = nil
    }
  }

  /// The chunk's request is over without it.
  func abandon(_ lease: ChunkLease) {
    lease.supersede()
    state.withLock { state in
      if state.leases[lease.index] === lease { state.leases[lease.index] = nil }
    }
  }

  /// Ends the session and removes its files.
  func remove() {
    state.withLock { state in
      state.isGone = true
      for lease in state.leases.values { lease.end(Self.over) }
      state.leases = [:]
    }
    Disk.removeFolder(folder)
  }

  /// Forgets every chunk (a fault); the session itself stays.
  func forgetChunks() throws {
    try state.withLock { state in
      for lease in state.leases.values { lease.supersede() }
      (state.leases, state.chunks) = ([:], [:])
      try journal.create([:])
    }
  }
}
