import Glibc

/// The SHA-256 of every file version that was asked for: each calculated once, and kept in `.depot/digests`.
final class DigestCache: Sendable {
  /// A digest that is being calculated.
  struct Pending: Sendable {
    let started: ContinuousClock.Instant
    let task: Task<[UInt8], any Error>
  }

  private struct State {
    var known: [String: [UInt8]] = [:]
    var pending: [FileIdentity: Pending] = [:]
  }

  private let state = Locked(State())
  private let pool: BlockingPool
  private let file: String

  /// Reads what earlier runs knew; lines that are not whole are passed over.
  init(folder: String, pool: BlockingPool) {
    self.pool = pool
    file = folder + "/digests"
    let lines = String(decoding: Disk.read(file) ?? [], as: UTF8.self).split(separator: "\n")
    var known: [String: [UInt8]] = [:]
    for line in lines {
      let words = line.split(separator: " ")
      guard words.count == 2, let digest = Hex.decode(words[1]), digest.count == 32 else { continue }
      known[String(words[0])] = digest
    }
    state.withLock { $0.known = known }
  }

  /// The digest of an open file; callers at the same time share one calculation.
  func digest(of file: OpenFile) async throws -> [UInt8] {
    switch lookUp(file) {
    case .success(let digest): return digest
    case .failure(let pending): return try await pending.task.value
    }
  }

  /// As `digest(of:)`, but nil once the calculation has been running for `patience`; it goes on for later callers.
  func digest(of file: OpenFile, patience: Duration) async -> [UInt8]? {
    switch lookUp(file) {
    case .success(let digest): return digest
    case .failure(let pending):
      let deadline = pending.started + patience
      return await withTaskGroup(of: [UInt8]?.self) { group in
        let answer = AsyncStream<[UInt8]?>.makeStream()
        Task {
          answer.continuation.yield(try? await pending.task.value)
        }
        group.addTask {
          try? await Task.sleep(until: deadline, clock: .continuous)
          return nil
        }
        group.addTask {
          for await digest in answer.stream { return digest }
          return nil
        }
        let first = await group.next() ?? nil
        group.cancelAll()
        return first
      }
    }
  }

  /// Records a digest that is known from elsewhere, as after an upload.
  func record(_ digest: [UInt8], for identity: FileIdentity) {
    state.withLock { $0.known[identity.key] = digest }
    let line = Array("\(identity.key) \(Hex.encode(digest))\n".utf8)
    let descriptor = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return }
    // A cache: a line that can't be written only costs the calculation again.
    try? Disk.writeAll(descriptor, line)
    close(descriptor)
  }

  private enum LookUp {
    case success([UInt8])
    case failure(Pending)
  }

  private func lookUp(_ file: OpenFile) -> LookUp {
    state.withLock { state in
      if let digest = state.known[file.identity.key] { return .success(digest) }
      if let pending = state.pending[file.identity] { return .failure(pending) }
      let task = Task { try await self.calculate(file) }
      let pending = Pending(started: .now, task: task)
      state.pending[file.identity] = pending
      return .failure(pending)
    }
  }

  private func calculate(_ file: OpenFile) async throws -> [UInt8] {
    defer { state.withLock { _ = $0.pending.removeValue(forKey: file.identity) } }
    return try await pool.run {
      let digest = try file.digest(of: ByteRange(offset: 0, count: .max))
      // Only a file that stood still, and whose time stamp would show a later change, is remembered.
      if FileIdentity(descriptor: file.descriptor) == file.identity, !file.identity.isFresh {
        self.record(digest, for: file.identity)
      }
      return digest
    }
  }
}
