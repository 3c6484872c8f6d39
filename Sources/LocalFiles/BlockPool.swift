import Locks

/// Blocks of memory that received bytes are gathered in: few for the whole run, and lent for a moment.
package final class BlockPool: Sendable {
  /// Bytes of a block: large enough for cheap writes, small enough to stay in a core's cache until it is hashed.
  static let blockSize = 256 << 10

  private struct State: Sendable {
    var idle: [Block] = []
    var lent = 0
  }

  private let most: Int
  private let state = Locked(State())

  /// - Parameter blocks: how many may be lent at once; who gets none goes on without.
  package init(blocks: Int = 32) { most = blocks }

  /// An empty block; nil where all are lent.
  package func take() -> Block? {
    state.withLock { state in
      guard state.lent < most else { return nil }
      state.lent += 1
      return state.idle.popLast() ?? Block(size: Self.blockSize)
    }
  }

  /// How many blocks are not here now.
  package var lent: Int { state.withLock { $0.lent } }

  package func giveBack(_ block: Block) {
    block.clear()
    state.withLock { state in
      state.lent -= 1
      state.idle.append(block)
    }
  }
}

/// Memory that one owner at a time fills or reads, hence sendable.
package final class Block: @unchecked Sendable {
  private let memory: UnsafeMutableRawBufferPointer
  package private(set) var count = 0

  package init(size: Int) { memory = .allocate(byteCount: size, alignment: 64) }

  deinit { memory.deallocate() }

  package var room: Int { memory.count - count }

  package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }

  /// Adds bytes that fit.
  package func append(_ more: UnsafeRawBufferPointer) {
    UnsafeMutableRawBufferPointer(rebasing: memory[count..<count + more.count]).copyMemory(from: more)
    count += more.count
  }

  package func clear() { count = 0 }
}
