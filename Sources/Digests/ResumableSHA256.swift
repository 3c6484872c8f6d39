import COpenSSL

/// SHA-256 that another process can go on with from the end of a block.
package struct ResumableSHA256 {
  /// What goes on from a place in the bytes: the hash value between two blocks (FIPS 180-4, 6.2.2).
  package struct State: Sendable, Hashable {
    /// Bytes that were given: a multiple of 64.
    package let count: Int64
    package let words: [UInt32]

    /// - Returns: nil where there is no such state.
    package init?(count: Int64, words: [UInt32]) {
      guard count > 0, count % ResumableSHA256.block == 0, words.count == 8 else { return nil }
      (self.count, self.words) = (count, words)
    }
  }

  private static let block: Int64 = 64
  private var context = SHA256_CTX()
  private var count: Int64

  /// - Parameter state: nil begins with no bytes given.
  package init(from state: State? = nil) {
    count = state?.count ?? 0
    haul_sha256_begin(&context, state?.words ?? Array(repeating: 0, count: 8), UInt64(count))
  }

  package mutating func update(_ bytes: UnsafeRawBufferPointer) {
    haul_sha256_add(&context, bytes.baseAddress, bytes.count)
    count += Int64(bytes.count)
  }

  /// nil in the middle of a block.
  package var state: State? {
    State(count: count, words: withUnsafeBytes(of: context.h) { Array($0.bindMemory(to: UInt32.self)) })
  }

  /// The digest in lower-case hexadecimal; nothing may be added after it.
  package mutating func finishHex() -> String {
    Hex.encode(
      [UInt8](unsafeUninitializedCapacity: 32) { buffer, filled in
        if let start = buffer.baseAddress { haul_sha256_end(&context, start) }
        filled = 32
      })
  }
}
