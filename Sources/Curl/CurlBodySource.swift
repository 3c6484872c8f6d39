/// Where a request's body comes from; called on the network thread only, hence sendable to it.
package protocol CurlBodySource: AnyObject, Sendable {
  /// Fills the buffer's beginning with the next bytes, at least one. An error ends the request.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> BodyRead

  /// Goes back to the body's first byte: a connection that was kept alive turned out to be dead.
  func rewind() throws

  /// The request is over: so many bytes of the body were written to the network, all tries together. What was given
  /// beyond them never left.
  func settle(sent: Int64)
}

/// What a body source did when it was asked for bytes.
package enum BodyRead: Sendable, Hashable {
  /// So many were given.
  case bytes(Int)
  /// None are at hand; `NetworkThread.resume` asks again.
  case pause
}

/// A body source that had fewer bytes than its stated length.
package struct CurlBodyEnded: Error, Hashable, CustomStringConvertible {
  package let expected: Int64
  package let given: Int64
  package var description: String { "the body ended after \(given) of its \(expected) bytes" }
}

/// A body that is in memory.
final class BytesSource: CurlBodySource, @unchecked Sendable {
  private let bytes: [UInt8]
  private var offset = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyRead {
    let count = min(buffer.count, bytes.count - offset)
    bytes.withUnsafeBytes { buffer.copyMemory(from: .init(rebasing: $0[offset..<(offset + count)])) }
    offset += count
    return .bytes(count)
  }

  func rewind() { offset = 0 }
  func settle(sent: Int64) {}
}
