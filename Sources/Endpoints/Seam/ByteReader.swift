/// Bytes to send, read where they are sent.
package protocol ByteReader: AnyObject, Sendable {
  /// Bytes in all.
  var length: Int64 { get }
  /// Fills the beginning of the buffer; returns how many bytes, at least one until the body has ended.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int
  /// True where no byte is at hand, and the end has not come: `resume` is then called once, from any thread, when one is.
  func lacksBytes(_ resume: @escaping @Sendable () -> Void) -> Bool
  /// The next read begins anew.
  func rewind() throws
  /// One sending is over: so many bytes went out, repetitions by the carrier itself included.
  func settle(sent: Int64)
  /// The carrier may send it again by itself, on a fresh connection; false where the first sending may have arrived and
  /// only its answer is lost.
  var mayBeRepeated: Bool { get }
}

extension ByteReader {
  package func lacksBytes(_ resume: @escaping @Sendable () -> Void) -> Bool { false }

  /// Waits until a byte is at hand, or none will come.
  package nonisolated(nonsending) func bytes() async {
    await withCheckedContinuation { continuation in
      if !lacksBytes({ continuation.resume() }) { continuation.resume() }
    }
  }
}
