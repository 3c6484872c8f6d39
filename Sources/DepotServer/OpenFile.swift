import Glibc
import NIOCore

/// A regular file that is open for reading, and what it was like when it was opened.
final class OpenFile: Sendable {
  let descriptor: Int32
  let identity: FileIdentity

  /// Takes the descriptor over. Nil where it is not a regular file.
  init?(descriptor: Int32) {
    self.descriptor = descriptor
    guard let identity = FileIdentity(descriptor: descriptor) else {
      // deinit doesn't run for an initializer that fails before all is set.
      close(descriptor)
      return nil
    }
    self.identity = identity
  }

  deinit {
    close(descriptor)
  }

  var size: Int { identity.size }

  /// The SHA-256 of a range. Blocks.
  func digest(of range: ByteRange) throws -> [UInt8] {
    let stream = SHA256Stream()
    var (offset, end) = (range.offset, range.end)
    let block = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
    defer { block.deallocate() }
    while offset < end {
      let count = pread(descriptor, block.baseAddress, min(block.count, end - offset), off_t(offset))
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw SystemError("read a file for its digest") }
      if count == 0 { end = offset }
      stream.update(UnsafeRawBufferPointer(rebasing: block[..<count]))
      offset += count
    }
    return stream.finish()
  }

  /// Up to `count` bytes from `offset`; fewer only at the file's end. Blocks.
  func read(at offset: Int, count: Int) throws -> ByteBuffer {
    var buffer = ByteBufferAllocator().buffer(capacity: count)
    while buffer.readableBytes < count {
      let done = buffer.readableBytes
      let got = try buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count - done) { space in
        let got = pread(descriptor, space.baseAddress, count - done, off_t(offset + done))
        if got < 0 {
          if errno == EINTR { return 0 }
          throw SystemError("read a served file")
        }
        return got
      }
      if got == 0 { break }
    }
    return buffer
  }
}
