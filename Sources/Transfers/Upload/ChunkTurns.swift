import Dispatch
import Locks

/// The chunks of a run's uploads that wait until their server's `ChunkStart` lets them begin, in the order of coming.
final class ChunkTurns: Sendable {
  private struct Waiter {
    let id: Int
    let bytes: Int64
    let limit: Double?
    let goOn: CheckedContinuation<Void, any Error>
  }

  private struct Line {
    var start: ChunkStart
    var waiters: [Waiter] = []
    /// Its one watcher goes on for as long as it finds somebody waiting.
    var isWatched = false
  }

  private struct State {
    var lines: [String: Line] = [:]
    var lastID = 0
  }

  private let state = Locked(State())

  /// Waits until a chunk of so many bytes may begin; `end` is called when it is over.
  ///
  /// - Parameters:
  ///   - limit: as of `ChunkStart.mayBegin`.
  ///   - now: seconds since 1970.
  nonisolated(nonsending) func begin(
    _ bytes: Int64, at origin: String, limit: Double?, now: @escaping @Sendable () -> Double
  ) async throws {
    let moment = now()
    let id: Int? = state.withLock { state in
      var line = state.lines[origin] ?? Line(start: ChunkStart(at: moment))
      defer { state.lines[origin] = line }
      guard !line.waiters.isEmpty || !line.start.mayBegin(bytes, limit: limit, at: moment) else {
        line.start.begin(bytes, at: moment)
        return nil
      }
      state.lastID += 1
      return state.lastID
    }
    guard let id else { return }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let wasWatched = state.withLock { state in
          state.lines[origin]?.waiters.append(
            Waiter(id: id, bytes: bytes, limit: limit, goOn: continuation))
          let wasWatched = state.lines[origin]?.isWatched ?? false
          state.lines[origin]?.isWatched = true
          return wasWatched
        }
        if Task.isCancelled { drop(id, origin) } else { serve(origin, at: now()) }
        if !wasWatched { watch(origin, now) }
      }
    } onCancel: {
      drop(id, origin)
    }
  }

  /// How many chunks wait for this server.
  func waiting(at origin: String) -> Int { state.withLock { $0.lines[origin]?.waiters.count ?? 0 } }

  /// Serves who waits also where no chunk ends.
  private func watch(_ origin: String, _ now: @escaping @Sendable () -> Double) {
    DispatchQueue.global().asyncAfter(deadline: .now() + ChunkStart.opening) { [self] in
      serve(origin, at: now())
      if mustWatch(origin) { watch(origin, now) }
    }
  }

  private func mustWatch(_ origin: String) -> Bool {
    state.withLock { state in
      let isWaiting = state.lines[origin]?.waiters.isEmpty == false
      state.lines[origin]?.isWatched = isWaiting
      return isWaiting
    }
  }

  /// - Parameter isTaken: the server has the chunk.
  func end(_ bytes: Int64, at origin: String, isTaken: Bool, now: Double) {
    state.withLock { $0.lines[origin]?.start.end(bytes, isTaken: isTaken, at: now) }
    serve(origin, at: now)
  }

  private func serve(_ origin: String, at now: Double) {
    let served = state.withLock { state -> [Waiter] in
      guard var line = state.lines[origin] else { return [] }
      var served: [Waiter] = []
      while let first = line.waiters.first, line.start.mayBegin(first.bytes, limit: first.limit, at: now) {
        line.start.begin(first.bytes, at: now)
        served.append(line.waiters.removeFirst())
      }
      state.lines[origin] = line
      return served
    }
    for waiter in served { waiter.goOn.resume() }
  }

  private func drop(_ id: Int, _ origin: String) {
    let dropped = state.withLock { state -> Waiter? in
      guard let index = state.lines[origin]?.waiters.firstIndex(where: { $0.id == id }) else { return nil }
      return state.lines[origin]?.waiters.remove(at: index)
    }
    dropped?.goOn.resume(throwing: CancellationError())
  }
}
