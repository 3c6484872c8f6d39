import Glibc
import HTTPTypes

/// One request's right to write one chunk's place in the data file.
///
/// A client that retries after a broken connection gets a new lease, and the old one is superseded: whatever its
/// connection still delivers is no longer written. So at most one request writes a place at any time.
final class ChunkLease: Sendable {
  let index: Int
  private let descriptor: Int32
  /// Why nothing more is written; nil as long as it may be.
  private let ending = Locked<Problem?>(nil)

  init(index: Int, dataFile: String) throws {
    self.index = index
    descriptor = open(dataFile, O_WRONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemError("open \(dataFile)") }
  }

  deinit {
    close(descriptor)
  }

  /// Blocks while it writes. Fails where the lease has ended.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws {
    try ending.withLock { ending in
      if let ending { throw ending }
      try Disk.writeAll(descriptor, bytes, at: offset)
    }
  }

  /// Returns once no write is under way; none follows.
  ///
  /// - Parameter why: what its request is answered.
  func end(_ why: Problem) {
    ending.withLock { $0 = $0 ?? why }
  }

  func supersede() { end(Self.superseded(index)) }

  static func superseded(_ index: Int) -> Problem {
    var problem = Problem(
      503, "CHUNK_SUPERSEDED", "another request sends chunk \(index) too, and came later; ask what arrived")
    problem.headers[.retryAfter] = "0"
    return problem
  }
}
