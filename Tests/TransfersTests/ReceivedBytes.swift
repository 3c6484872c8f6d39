import Endpoints
import JobModel

/// Takes all that a source reads. Used by one test alone.
final class ReceivedBytes: ByteReceiver, @unchecked Sendable {
  private(set) var opening: Opening?
  private(set) var bytes: [UInt8] = []
  private(set) var largest = 0
  var onOpen: (Opening) throws -> Void = { _ in }
  var onTake: () throws -> Void = {}
  /// How often it asks to be waited for.
  var waits = 0

  func open(_ opening: Opening) throws {
    self.opening = opening
    try onOpen(opening)
  }

  func take(_ more: UnsafeRawBufferPointer) throws {
    bytes += more
    largest = max(largest, more.count)
    try onTake()
  }

  func mustWait(_ resume: @escaping @Sendable () -> Void) -> Bool {
    guard waits > 0 else { return false }
    waits -= 1
    resume()
    return true
  }
}
