import Digests
import Endpoints

/// Hashes an answer's body and keeps nothing of it.
///
/// Used on the transport's executor alone, hence sendable to it.
final class DigestingSink: BodyWriter, @unchecked Sendable {
  private(set) var responseHead: ResponseHead?
  private let digest: StreamingDigest
  private let moved: (Int) -> Void

  init(moved: @escaping (Int) -> Void) throws {
    digest = try StreamingDigest(.sha256)
    self.moved = moved
  }

  func head(_ head: ResponseHead) { responseHead = head }
  func body(_ bytes: UnsafeRawBufferPointer) {
    digest.update(bytes)
    moved(bytes.count)
  }
  func finish() -> String { digest.finishHex() }
}
