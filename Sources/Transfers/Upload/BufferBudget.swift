import Dispatch
import JobModel
import LocalFiles
import Locks

/// The memory that chunks may take which are held before they are sent: one budget for the whole run.
///
/// Buffers that come back are lent again: fresh memory would cost a fault for every page.
package final class BufferBudget: Sendable {
  private struct State: Sendable {
    let capacity: Int
    /// Bytes that may still be lent, idle buffers among them.
    var free: Int
    var idle: [[UInt8]] = []
    /// In the order of coming: who begins a transfer's first chunk gets its room first.
    var waiters: [Waiter] = []
    var lastWaiter = 0
    /// Bytes that are lent, by the server that they go to.
    var lent: [String: Int] = [:]
    /// Copies under way whose bytes pass through here, by the server that they go to.
    var copies: [String: Int] = [:]
    /// So many bytes were waited for in vain: who wants as many and can do without does not wait for them.
    var lacking: Int?

    init(capacity: Int) { (self.capacity, free) = (capacity, capacity) }

    /// A server that takes its bytes slowly, or not at all, holds no more than its share; one that holds nothing may have any.
    func mayLend(_ bytes: Int, for origin: String) -> Bool {
      let (held, others) = (lent[origin] ?? 0, copies.keys.count { $0 != origin })
      return held == 0 || held + bytes <= capacity / (others + 1)
    }

    /// The first that may have room now. None goes before another one of its server: a copy's chunks are hashed in their order.
    var next: Int? {
      var waiting: Set<String> = []
      return waiters.indices.first { index in
        let waiter = waiters[index]
        guard !waiting.contains(waiter.origin) else { return false }
        if mayLend(waiter.bytes, for: waiter.origin) { return true }
        waiting.insert(waiter.origin)
        return false
      }
    }

    mutating func lend(_ bytes: Int, for origin: String) -> [UInt8]? {
      guard free >= bytes else { return nil }
      free -= bytes
      lent[origin, default: 0] += bytes
      if let index = idle.firstIndex(where: { $0.count == bytes }) { return idle.remove(at: index) }
      // What lies idle must not come on top of what is lent.
      var kept = idle.reduce(0) { $0 + $1.count }
      while kept > free, let dropped = idle.popLast() { kept -= dropped.count }
      return []
    }
  }

  private struct Waiter: Sendable {
    let id: Int
    let bytes: Int
    let origin: String
    let continuation: CheckedContinuation<Loan?, any Error>
  }

  /// Bytes in all.
  let capacity: Int
  /// Seconds that a chunk which can do without waits for what other servers hold.
  private let patience: Double
  private let state: Locked<State>

  /// - Parameter bytes: 16 MiB by contract (endpoints.md).
  package init(bytes: Int = 16 << 20, patience: Double = 30) {
    (capacity, self.patience) = (bytes, patience)
    state = Locked(State(capacity: bytes))
  }

  /// Who waits for room.
  var waiting: Int { state.withLock { $0.waiters.count } }
  /// The servers that copies go to.
  var copiedTo: Set<String> { state.withLock { Set($0.copies.keys) } }

  /// Takes room for a buffer; nil where there is none now, or where others wait for it.
  func take(_ bytes: Int, for origin: String) -> Loan? {
    state.withLock {
      $0.waiters.isEmpty && $0.mayLend(bytes, for: origin) ? $0.lend(bytes, for: origin) : nil
    }.map { Loan(self, bytes, origin, $0) }
  }

  /// A copy to this server begins: copies to others leave it a share.
  func begin(copyTo origin: String) { state.withLock { $0.copies[origin, default: 0] += 1 } }

  /// The copy is over.
  func end(copyTo origin: String) {
    state.withLock {
      let left = ($0.copies[origin] ?? 1) - 1
      $0.copies[origin] = left > 0 ? left : nil
    }
    serve()
  }

  /// Waits for room.
  ///
  /// - Parameters:
  ///   - bytes: `capacity` at most.
  ///   - origin: the server that they go to.
  ///   - canDoWithout: slow servers, or dead ones, may hold all of it for as long as they like.
  /// - Returns: nil where other servers held it for too long, and the caller can do without.
  nonisolated(nonsending) func room(
    _ bytes: Int, for origin: String, canDoWithout: Bool = false
  ) async throws -> Loan? {
    let id = state.withLock { state in
      state.lastWaiter += 1
      return state.lastWaiter
    }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        state.withLock {
          $0.waiters.append(Waiter(id: id, bytes: bytes, origin: origin, continuation: continuation))
        }
        if Task.isCancelled { drop(id) }
        serve()
        if canDoWithout, waits(id, isLate: false) { watch(id) }
      }
    } onCancel: {
      drop(id)
      serve()
    }
  }

  private func drop(_ id: Int) {
    let dropped = state.withLock { state in
      state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
    }
    dropped?.continuation.resume(throwing: CancellationError())
  }

  private func watch(_ id: Int) {
    DispatchQueue.global().asyncAfter(deadline: .now() + patience) { [self] in
      if waits(id, isLate: true) { watch(id) }
    }
  }

  /// Lets one go on without room where the room is other servers', for long (`isLate`) or by what is known already.
  ///
  /// - Returns: whether it still waits.
  private func waits(_ id: Int, isLate: Bool) -> Bool {
    let (waits, gone) = state.withLock { state -> (Bool, Waiter?) in
      guard let index = state.waiters.firstIndex(where: { $0.id == id }) else { return (false, nil) }
      let waiter = state.waiters[index]
      // What its own server holds comes back with the chunks before it; what has just come back is about to be lent.
      guard state.lent[waiter.origin] == nil, state.free < waiter.bytes,
        isLate || waiter.bytes >= state.lacking ?? .max
      else {
        return (true, nil)
      }
      state.lacking = min(waiter.bytes, state.lacking ?? .max)
      return (false, state.waiters.remove(at: index))
    }
    gone?.continuation.resume(returning: nil)
    if gone != nil { serve() }
    return waits
  }

  private func serve() {
    let served = state.withLock { state in
      var served: [(waiter: Waiter, buffer: [UInt8])] = []
      while let index = state.next,
        let buffer = state.lend(state.waiters[index].bytes, for: state.waiters[index].origin)
      {
        served.append((state.waiters.remove(at: index), buffer))
      }
      return served
    }
    for (waiter, buffer) in served {
      waiter.continuation.resume(returning: Loan(self, waiter.bytes, waiter.origin, buffer))
    }
  }

  private func giveBack(_ bytes: Int, _ origin: String, _ buffer: [UInt8]) {
    state.withLock { state in
      state.free += bytes
      if let lacking = state.lacking, state.free >= lacking { state.lacking = nil }
      let left = (state.lent[origin] ?? bytes) - bytes
      state.lent[origin] = left > 0 ? left : nil
      if buffer.count == bytes, bytes >= 65_536 { state.idle.append(buffer) }
    }
    serve()
  }

  /// Room that goes back by itself, and the bytes in it: filled once, by one owner, before others read them.
  final class Loan: @unchecked Sendable {
    private let budget: BufferBudget
    private let size: Int
    private let origin: String
    private(set) var bytes: [UInt8]

    init(_ budget: BufferBudget, _ size: Int, _ origin: String, _ buffer: [UInt8]) {
      (self.budget, self.size, self.origin) = (budget, size, origin)
      bytes = buffer
    }

    /// Reads the range into it; false where the file ends before.
    func fill(_ range: Range<Int64>, of file: OpenFile) throws(Failure) -> Bool {
      clear()
      var count = 0
      var failure: Failure?
      bytes.withUnsafeMutableBytes { buffer in
        do throws(Failure) { count = try file.read(into: buffer, at: range.lowerBound) } catch {
          failure = error
        }
      }
      if let failure { throw failure }
      return count == size
    }

    /// Puts bytes into their place in it.
    func write(_ piece: UnsafeRawBufferPointer, at offset: Int) {
      clear()
      bytes.withUnsafeMutableBytes { $0[offset..<offset + piece.count].copyBytes(from: piece) }
    }

    private func clear() { if bytes.count != size { bytes = [UInt8](repeating: 0, count: size) } }

    deinit { budget.giveBack(size, origin, bytes) }
  }
}
