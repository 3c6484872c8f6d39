import JobModel
import LocalFiles
import Locks

/// The memory that chunks may take which are hashed before they are sent: one budget for the whole run.
///
/// Buffers that come back are lent again: fresh memory would cost a fault for every page.
package final class BufferBudget: Sendable {
  private struct State: Sendable {
    /// Bytes that may still be lent, idle buffers among them.
    var free: Int
    var idle: [[UInt8]] = []
  }

  private let state: Locked<State>

  /// - Parameter bytes: 16 MiB by contract (endpoints.md).
  package init(bytes: Int = 16 << 20) { state = Locked(State(free: bytes)) }

  /// Takes room for a buffer; nil where there is none now.
  func take(_ bytes: Int) -> Loan? {
    let buffer = state.withLock { state -> [UInt8]? in
      guard state.free >= bytes else { return nil }
      state.free -= bytes
      if let index = state.idle.firstIndex(where: { $0.count == bytes }) {
        return state.idle.remove(at: index)
      }
      // What lies idle must not come on top of what is lent.
      var kept = state.idle.reduce(0) { $0 + $1.count }
      while kept > state.free, let dropped = state.idle.popLast() { kept -= dropped.count }
      return []
    }
    return buffer.map { Loan(self, bytes, $0) }
  }

  private func giveBack(_ bytes: Int, _ buffer: [UInt8]) {
    state.withLock { state in
      state.free += bytes
      if buffer.count == bytes, bytes >= 65_536 { state.idle.append(buffer) }
    }
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
      if bytes.count != size { bytes = [UInt8](repeating: 0, count: size) }
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

    deinit { budget.giveBack(size, bytes) }
  }
}
