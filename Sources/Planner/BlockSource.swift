internal import Glibc
internal import Posix

/// A text that is read block by block.
protocol BlockSource: AnyObject {
  /// Empty at the end.
  func next() throws -> [UInt8]
}

/// A file as it is, in blocks of 1 MiB.
final class FileBlocks: BlockSource {
  private static let block = 1 << 20
  private let descriptor: Int32

  init(_ path: String) throws(SystemError) {
    descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemError() }
  }

  deinit { close(descriptor) }

  func next() throws -> [UInt8] { try Files.read(descriptor, upTo: Self.block) }
}
