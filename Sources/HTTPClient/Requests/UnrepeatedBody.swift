import Endpoints

/// A body that the carrier may not send a second time by itself: who sent it decides what goes with the next try.
///
/// Used on the transport's executor alone, hence sendable to it.
final class UnrepeatedBody: ByteReader, @unchecked Sendable {
  private let body: any ByteReader
  private var hasBegun = false

  init(_ body: any ByteReader) { self.body = body }

  var length: Int64 { body.length }
  var mayBeRepeated: Bool { !hasBegun && body.mayBeRepeated }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    hasBegun = true
    return try body.read(into: buffer)
  }

  func lacksBytes(_ resume: @escaping @Sendable () -> Void) -> Bool { body.lacksBytes(resume) }
  func rewind() throws { try body.rewind() }
  func settle(sent: Int64) { body.settle(sent: sent) }
}
