package import Digests
import JobModel
import Locks

/// Digests of a file that is still being written, computed beside the writing, on the pool.
///
/// Blocks that arrive in order are hashed from memory; what comes in another order is read behind the frontier, from
/// the page cache, and never ahead of it.
package final class IncrementalDigest: Sendable {
  /// A block of the file that is written, and where it begins.
  fileprivate struct Piece: Sendable {
    var start: Int64
    var block: Block
  }

  fileprivate struct State {
    var frontier: Int64 = 0
    var pieces: [Piece] = []
    var isWorking = false
    var isEnded = false
    /// Called once few blocks wait.
    var resume: (@Sendable () -> Void)?
    var waiter: CheckedContinuation<[DigestKind: String], any Error>?
    var result: Result<[DigestKind: String], any Error>?
  }

  /// High and low watermarks of queued blocks: the writer pauses above the first and resumes below the second.
  private static let manyBlocks = 8
  private static let fewBlocks = 4
  /// Bytes that are hashed before others in the pool have their turn: an upload's first chunk is not to wait until all
  /// of its file is hashed.
  private static let turn: Int64 = 4 << 20

  private let file: OpenFile
  private let pool: BlockingPool
  /// Where blocks come from that are taken.
  private let blocks: BlockPool?
  private let state = Locked(State())
  private let work: Work

  /// Touched by one pool job at a time (`isWorking`), hence sendable.
  private final class Work: @unchecked Sendable {
    var position: Int64 = 0
    let digests: DigestSet
    init(_ digests: DigestSet) { self.digests = digests }
  }

  package init(_ kinds: Set<DigestKind>, of file: OpenFile, pool: BlockingPool, blocks: BlockPool? = nil)
    throws
  {
    self.file = file
    self.pool = pool
    self.blocks = blocks
    work = Work(try DigestSet(kinds))
  }

  deinit {
    for piece in state.withLock({ $0.pieces }) { blocks?.giveBack(piece.block) }
  }

  /// Says that all bytes before `frontier` are written.
  package func advance(to frontier: Int64) {
    let start = state.withLock { state -> Bool in
      guard frontier > state.frontier, !state.isEnded else { return false }
      state.frontier = frontier
      return state.begin()
    }
    if start { schedule() }
  }

  /// Takes a block that is written, if it is the next one; else it stays the caller's.
  package func take(_ block: Block, at start: Int64) -> Bool {
    let (taken, starts) = state.withLock { state -> (Bool, Bool) in
      guard start == state.frontier, !state.isEnded, state.result == nil else { return (false, false) }
      state.pieces.append(Piece(start: start, block: block))
      state.frontier += Int64(block.count)
      return (true, state.begin())
    }
    if starts { schedule() }
    return taken
  }

  /// So many blocks wait that the writer at the frontier must; `resume` is called once, from anywhere, when it may go on.
  package func mustWait(at position: Int64, _ resume: @escaping @Sendable () -> Void) -> Bool {
    state.withLock { state in
      guard state.pieces.count >= Self.manyBlocks, state.frontier == position, state.result == nil else {
        return false
      }
      state.resume = resume
      return true
    }
  }

  /// Says that the file has `size` bytes, and waits for the digests.
  package nonisolated(nonsending) func finish(size: Int64) async throws -> [DigestKind: String] {
    try await withTaskCancellationHandler {
      try await wait(size)
    } onCancel: {
      settle(.failure(CancellationError()))
    }
  }

  /// Nobody waits for the digests any more.
  package func cancel() { settle(.failure(CancellationError())) }

  private nonisolated(nonsending) func wait(_ size: Int64) async throws -> [DigestKind: String] {
    try await withCheckedThrowingContinuation { continuation in
      let start = state.withLock { state -> Bool in
        if let result = state.result {
          continuation.resume(with: result)
          return false
        }
        state.frontier = size
        state.isEnded = true
        state.waiter = continuation
        return state.begin()
      }
      if start { schedule() }
    }
  }

  private enum Next {
    case piece(Piece)
    case file(upTo: Int64)
    case end
    case nothing
  }

  private func schedule() {
    pool.submit { [self] in
      let end = work.position + Self.turn
      while true {
        guard work.position < end else { return schedule() }
        switch next() {
        case .piece(let piece):
          work.digests.update(piece.block.bytes)
          work.position += Int64(piece.block.count)
          blocks?.giveBack(piece.block)
        case .file(let target):
          do { try hash(to: min(target, end)) } catch { settle(.failure(error)) }
        case .end:
          settle(.success(work.digests.finish()))
        case .nothing:
          return
        }
      }
    }
  }

  private func next() -> Next {
    let (next, resume) = state.withLock { state -> (Next, (@Sendable () -> Void)?) in
      guard state.result == nil else {
        state.isWorking = false
        return (.nothing, nil)
      }
      if let piece = state.pieces.first {
        guard piece.start == work.position else { return (.file(upTo: piece.start), nil) }
        state.pieces.removeFirst()
        return (.piece(piece), state.pieces.count <= Self.fewBlocks ? state.takeResume() : nil)
      }
      if work.position < state.frontier { return (.file(upTo: state.frontier), nil) }
      if state.isEnded { return (.end, nil) }
      state.isWorking = false
      return (.nothing, nil)
    }
    resume?()
    return next
  }

  private func hash(to target: Int64) throws {
    var isSettled = false
    let read = try file.scan(work.position..<target) { bytes in
      work.digests.update(bytes)
      isSettled = state.withLock { $0.result != nil }
      return !isSettled
    }
    work.position += read
    if work.position < target, !isSettled {
      throw Failure(.ioError, "`\(file.path)` ends at byte \(work.position), before \(target)")
    }
  }

  private func settle(_ result: Result<[DigestKind: String], any Error>) {
    let (waiter, resume) = state.withLock { state in
      guard state.result == nil else {
        return (CheckedContinuation<[DigestKind: String], any Error>?.none, (@Sendable () -> Void)?.none)
      }
      state.result = result
      defer { state.waiter = nil }
      return (state.waiter, state.takeResume())
    }
    resume?()
    waiter?.resume(with: result)
  }
}

extension IncrementalDigest.State {
  /// True where a worker is to be started.
  fileprivate mutating func begin() -> Bool {
    guard !isWorking else { return false }
    isWorking = true
    return true
  }

  fileprivate mutating func takeResume() -> (@Sendable () -> Void)? {
    defer { resume = nil }
    return resume
  }
}
