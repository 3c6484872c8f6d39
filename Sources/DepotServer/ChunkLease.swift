import Glibc
import HTTPTypes

/// One request's right to write one chunk's place in the data file.
///
/// A client that retries after a broken connection gets a new lease, and the old one is superseded: whatever its
/// connection still delivers is no longer written. So at most one request writes a place at any time.
final class ChunkLease: Sendable {
  let index: Int
  private let descriptor: Int32
  private let isSuperseded = Locked(false)

  init(index: Int, dataFile: String) throws {
    self.index = index
    descriptor = open(dataFile, O_WRONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemError("open \(dataFile)") }
  }

  deinit {
    close(descriptor)
  }

  /// Blocks while it writes. Fails where the lease was superseded.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws {
    try isSuperseded.withLock { isSuperseded in
      if isSuperseded { throw Self.superseded(index) }
      try Disk.writeAll(descriptor, bytes, at: offset)
    }
  }

  /// Returns once no write is under way; none follows.
  func supersede() {
    isSuperseded.withLock { $0 = true }
  }

  static func superseded(_ index: Int) -> Problem {
    var problem = Problem(
      503, "CHUNK_SUPERSEDED", "another request sends chunk \(index) too, and came later; ask what arrived")
    problem.headers[.retryAfter] = "0"
    return problem
  }
}
