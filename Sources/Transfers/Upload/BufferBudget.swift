import JobModel
import LocalFiles
import Locks

/// The memory that chunks may take which are held before they are sent: one budget for the whole run.
///
/// Buffers that come back are lent again: fresh memory would cost a fault for every page.
package final class BufferBudget: Sendable {
  private struct State: Sendable {
    /// Bytes that may still be lent, idle buffers among them.
    var free: Int
    var idle: [[UInt8]] = []
    /// In the order of coming: who begins a transfer's first chunk gets its room first.
    var waiters: [Waiter] = []
    var lastWaiter = 0

    mutating func lend(_ bytes: Int) -> [UInt8]? {
      guard free >= bytes else { return nil }
      free -= bytes
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
    let continuation: CheckedContinuation<Loan, any Error>
  }

  /// Bytes in all.
  let capacity: Int
  private let state: Locked<State>

  /// - Parameter bytes: 16 MiB by contract (endpoints.md).
  package init(bytes: Int = 16 << 20) {
    capacity = bytes
    state = Locked(State(free: bytes))
  }

  /// Who waits for room.
  var waiting: Int { state.withLock { $0.waiters.count } }

  /// Takes room for a buffer; nil where there is none now, or where others wait for it.
  func take(_ bytes: Int) -> Loan? {
    state.withLock { $0.waiters.isEmpty ? $0.lend(bytes) : nil }.map { Loan(self, bytes, $0) }
  }

  /// Waits for room.
  ///
  /// - Parameter bytes: `capacity` at most.
  nonisolated(nonsending) func room(_ bytes: Int) async throws -> Loan {
    let id = state.withLock { state in
      state.lastWaiter += 1
      return state.lastWaiter
    }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        state.withLock {
          $0.waiters.append(Waiter(id: id, bytes: bytes, continuation: continuation))
        }
        if Task.isCancelled { drop(id) }
        serve()
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

  private func serve() {
    let served = state.withLock { state in
      var served: [(waiter: Waiter, buffer: [UInt8])] = []
      while let first = state.waiters.first, let buffer = state.lend(first.bytes) {
        served.append((state.waiters.removeFirst(), buffer))
      }
      return served
    }
    for (waiter, buffer) in served {
      waiter.continuation.resume(returning: Loan(self, waiter.bytes, buffer))
    }
  }

  private func giveBack(_ bytes: Int, _ buffer: [UInt8]) {
    state.withLock { state in
      state.free += bytes
      if buffer.count == bytes, bytes >= 65_536 { state.idle.append(buffer) }
    }
    serve()
  }

  /// Room that goes back by itself, and the bytes in it: filled once, by one owner, before others read them.
  final class Loan: @unchecked Sendable {
    private let budget: BufferBudget
    private let size: Int
    private(set) var bytes: [UInt8]

    init(_ budget: BufferBudget, _ size: Int, _ buffer: [UInt8]) {
      self.budget = budget
      self.size = size
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

    deinit { budget.giveBack(size, bytes) }
  }
}
