import CPosix
import Dispatch
import Locks
import Synchronization

/// Has the kernel begin to write what a download has brought, so that the sync at its end does not wait for all of it
/// (sync_file_range(2)).
///
/// A hint and no proof: it tells of no error, and takes none from the sync that follows. A write that fails is told of by
/// that sync as long as the file is open somewhere; so it stays open here until then.
package final class Writeback: Sendable {
  /// Bytes; shorter pieces are left to the kernel's own time.
  private static let least: Int64 = 1 << 20
  /// Behind a disk that is slower than the network no more pieces wait, each with its open file.
  private static let most = 64

  // A thread of its own: where the disk's queue is full, the call waits for the disk.
  private let queue = DispatchQueue(label: "haul-writeback")
  private let waiting = Atomic<Int>(0)
  /// Finished files that are not synced yet, by inode.
  private let kept = Locked<[UInt64: [OpenFile]]>([:])

  package init() {}

  /// - Returns: whether it was handed on; then the file is to be kept when it is finished.
  package func begin(_ range: Range<Int64>, of file: OpenFile) -> Bool {
    let count = range.upperBound - range.lowerBound
    guard count >= Self.least, waiting.load(ordering: .relaxed) < Self.most,
      kept.withLock({ $0.count }) < Self.most
    else { return false }
    waiting.wrappingAdd(1, ordering: .relaxed)
    queue.async { [self] in
      _ = sync_file_range(
        file.descriptor, off_t(range.lowerBound), off_t(count), UInt32(SYNC_FILE_RANGE_WRITE))
      waiting.wrappingSubtract(1, ordering: .relaxed)
    }
    return true
  }

  /// Keeps a finished file open until its sync has told what became of it.
  package func keep(_ file: OpenFile, inode: UInt64) {
    kept.withLock { $0[inode, default: []].append(file) }
  }

  /// The sync has told.
  package func release(_ inode: UInt64?) {
    guard let inode else { return }
    kept.withLock { $0[inode] = nil }
  }
}
