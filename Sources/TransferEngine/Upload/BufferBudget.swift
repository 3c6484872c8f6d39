import Synchronization

/// The memory that chunks may take which are hashed before they are sent: one budget for the whole run.
package final class BufferBudget: Sendable {
  private let free: Mutex<Int>

  /// - Parameter bytes: 16 MiB by contract (endpoints.md).
  package init(bytes: Int = 16 << 20) { free = Mutex(bytes) }

  /// Takes room for a buffer; nil where there is none now.
  func take(_ bytes: Int) -> Loan? {
    let granted = free.withLock { free in
      guard free >= bytes else { return false }
      free -= bytes
      return true
    }
    return granted ? Loan(self, bytes) : nil
  }

  /// Room that goes back by itself.
  final class Loan: Sendable {
    private let budget: BufferBudget
    private let bytes: Int
    init(_ budget: BufferBudget, _ bytes: Int) {
      self.budget = budget
      self.bytes = bytes
    }
    deinit { budget.free.withLock { $0 += bytes } }
  }
}
