import Digests
import JobModel
import Synchronization

/// Digests of a file that is still being written, computed beside the writing: it reads what lies behind the
/// frontier, from the page cache, on the pool, and never ahead of it. Order of arrival does not matter.
final class TrailingDigest: Sendable {
  private struct State {
    var frontier: Int64 = 0
    var isWorking = false
    var isEnded = false
    var waiter: CheckedContinuation<[DigestKind: String], any Error>?
    var result: Result<[DigestKind: String], any Error>?
  }

  private let file: OpenFile
  private let pool: BlockingPool
  private let state = Mutex(State())
  private let work: Work

  /// Touched by one pool job at a time (`isWorking`), hence sendable.
  private final class Work: @unchecked Sendable {
    var position: Int64 = 0
    var digests: [StreamingDigest]
    init(_ digests: [StreamingDigest]) { self.digests = digests }
  }

  init(_ kinds: Set<DigestKind>, of file: OpenFile, pool: BlockingPool) throws {
    self.file = file
    self.pool = pool
    work = Work(try kinds.sorted { $0.rawValue < $1.rawValue }.map { try StreamingDigest($0) })
  }

  /// Says that all bytes before `frontier` are written.
  func advance(to frontier: Int64) {
    let start = state.withLock { state -> Bool in
      guard frontier > state.frontier, !state.isEnded else { return false }
      state.frontier = frontier
      guard !state.isWorking else { return false }
      state.isWorking = true
      return true
    }
    if start { schedule() }
  }

  /// Says that the file has `size` bytes, and waits for the digests.
  func finish(size: Int64) async throws -> [DigestKind: String] {
    try await withTaskCancellationHandler {
      try await wait(size)
    } onCancel: {
      settle(.failure(CancellationError()))
    }
  }

  private func wait(_ size: Int64) async throws -> [DigestKind: String] {
    try await withCheckedThrowingContinuation { continuation in
      let start = state.withLock { state -> Bool in
        if let result = state.result {
          continuation.resume(with: result)
          return false
        }
        state.frontier = size
        state.isEnded = true
        state.waiter = continuation
        guard !state.isWorking else { return false }
        state.isWorking = true
        return true
      }
      if start { schedule() }
    }
  }

  private func schedule() {
    pool.submit { [self] in
      while true {
        let (target, isEnded, isSettled) = state.withLock { ($0.frontier, $0.isEnded, $0.result != nil) }
        if isSettled { return }
        if work.position < target {
          do { try hash(to: target) } catch {
            settle(.failure(error))
            return
          }
          continue
        }
        if isEnded {
          var found: [DigestKind: String] = [:]
          for digest in work.digests { found[digest.kind] = digest.finishHex() }
          settle(.success(found))
          return
        }
        // Nothing more for now, unless the frontier moved since it was read.
        let stop = state.withLock { state -> Bool in
          if state.frontier > work.position || state.isEnded { return false }
          state.isWorking = false
          return true
        }
        if stop { return }
      }
    }
  }

  private func hash(to target: Int64) throws {
    var isSettled = false
    let read = try file.scan(work.position..<target) { bytes in
      for digest in work.digests { digest.update(bytes) }
      isSettled = state.withLock { $0.result != nil }
      return !isSettled
    }
    work.position += read
    if work.position < target, !isSettled {
      throw Failure(.ioError, "`\(file.path)` ends at byte \(work.position), before \(target)")
    }
  }

  private func settle(_ result: Result<[DigestKind: String], any Error>) {
    let waiter = state.withLock { state -> CheckedContinuation<[DigestKind: String], any Error>? in
      guard state.result == nil else { return nil }
      state.result = result
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume(with: result)
  }
}
