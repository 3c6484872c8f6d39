internal import Locks

/// The buffers of the run's one budget that a transfer holds, and what else others wait for.
package final class SharedBuffers: Sendable {
  private let count = Locked(0)

  var areHeld: Bool { count.withLock { $0 > 0 } }

  /// Counts one until the value that is returned goes.
  package func hold() -> Holding { Holding(self) }

  package final class Holding: Sendable {
    private let buffers: SharedBuffers

    fileprivate init(_ buffers: SharedBuffers) {
      self.buffers = buffers
      buffers.count.withLock { $0 += 1 }
    }

    deinit { buffers.count.withLock { $0 -= 1 } }
  }
}
