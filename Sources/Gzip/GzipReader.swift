import CZlib

/// Inflates a gzip file (RFC 1952) piece by piece; members one after the other are one text.
package final class GzipReader {
  package struct Fault: Error, Sendable, Hashable, CustomStringConvertible {
    package var description: String
  }

  /// Bytes that one call gives at most.
  private static let piece = 256 << 10
  private let read: () throws -> [UInt8]
  /// At one address: zlib's own state points back to it.
  private let stream: UnsafeMutablePointer<z_stream>
  private var input: [UInt8] = []
  private var position = 0
  /// Within a member, whose end has not come.
  private var isInside = false

  /// - Parameter read: gives the next compressed bytes; none at the end.
  package init(_ read: @escaping () throws -> [UInt8]) throws(Fault) {
    self.read = read
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    guard haul_inflate_begin(stream) == Z_OK else {
      throw Fault(description: "there is no memory to inflate it")
    }
  }

  deinit {
    inflateEnd(stream)
    stream.deallocate()
  }

  /// The next inflated bytes; empty at the end.
  ///
  /// - Throws: what reading throws; `Fault` where the bytes are no gzip, damaged or cut off.
  package func next() throws -> [UInt8] {
    while true {
      if position == input.count {
        (input, position) = (try read(), 0)
        guard !input.isEmpty else {
          guard !isInside else { throw Fault(description: "the gzip data is cut off") }
          return []
        }
      }
      isInside = true
      let bytes = try inflated()
      if !bytes.isEmpty { return bytes }
    }
  }

  private func inflated() throws(Fault) -> [UInt8] {
    var code = Z_OK
    let bytes = [UInt8](unsafeUninitializedCapacity: Self.piece) { output, filled in
      input.withUnsafeMutableBufferPointer { input in
        let rest = UnsafeMutableBufferPointer(rebasing: input[position...])
        stream.pointee.next_in = rest.baseAddress
        stream.pointee.avail_in = UInt32(clamping: rest.count)
        stream.pointee.next_out = output.baseAddress
        stream.pointee.avail_out = UInt32(clamping: output.count)
        let given = Int(stream.pointee.avail_in)
        code = inflate(stream, Z_NO_FLUSH)
        position += given - Int(stream.pointee.avail_in)
        filled = output.count - Int(stream.pointee.avail_out)
      }
    }
    switch code {
    case Z_OK, Z_BUF_ERROR: return bytes
    case Z_STREAM_END:
      isInside = false
      guard inflateReset(stream) == Z_OK else { throw Fault(description: "it can't be inflated further") }
      return bytes
    default: throw Fault(description: "it is not gzip, or damaged")
    }
  }
}
