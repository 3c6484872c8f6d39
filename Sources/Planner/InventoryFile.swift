internal import Digests
internal import Gzip
internal import Posix

/// One file of an inventory: its text inflated, and its bytes proved by the MD5 that the manifest has of them. That is known
/// only at its end; a plan with a fault is not used.
final class InventoryFile: BlockSource {
  struct Fault: Error, CustomStringConvertible { var description: String }

  private let reader: GzipReader
  private let digest: StreamingDigest
  private let expected: String

  init(_ path: String, md5: String) throws {
    let (file, digest) = (try FileBlocks(path), try StreamingDigest(.md5))
    reader = try GzipReader {
      let block = try file.next()
      digest.update(block)
      return block
    }
    (self.digest, expected) = (digest, md5)
  }

  func next() throws -> [UInt8] {
    let bytes = try reader.next()
    guard bytes.isEmpty else { return bytes }
    let found = digest.finishHex()
    guard found == expected else {
      throw Fault(description: "its MD5 is \(found), the inventory's manifest says \(expected)")
    }
    return []
  }
}
