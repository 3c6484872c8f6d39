import NIOCore

/// The fault that changes one bit of a body.
enum BitFlip {
  /// Flips the lowest bit of the body's byte `offset`, where `buffer` (the body from `start` on) holds it.
  static func apply(_ offset: Int?, to buffer: inout ByteBuffer, at start: Int) {
    guard let offset, offset >= start, offset < start + buffer.readableBytes else { return }
    let index = buffer.readerIndex + offset - start
    guard let byte = buffer.getInteger(at: index, as: UInt8.self) else { return }
    buffer.setInteger(byte ^ 1, at: index)
  }
}
