import Digests

/// Digests of a small file that comes in one piece, fed as it passes.
///
/// Used on the transport's executor alone, hence sendable to it.
final class InlineDigest: @unchecked Sendable {
  private var digests: [StreamingDigest]

  init(_ kinds: Set<DigestKind>) throws {
    digests = try kinds.sorted { $0.rawValue < $1.rawValue }.map { try StreamingDigest($0) }
  }

  func update(_ bytes: UnsafeRawBufferPointer) {
    for digest in digests { digest.update(bytes) }
  }

  func finish() -> [DigestKind: String] {
    var found: [DigestKind: String] = [:]
    for digest in digests { found[digest.kind] = digest.finishHex() }
    return found
  }
}
