import Digests
import Endpoints
import JobModel

/// Collects a small answer. Used on the transport's executor alone, hence sendable to it.
final class ResponseBuffer: BodyWriter, @unchecked Sendable {
  private(set) var responseHead: ResponseHead?
  private(set) var bytes: [UInt8] = []
  private let limit: Int

  /// - Parameter limit: bytes of body that are kept; what is longer ends the request.
  init(limit: Int = 16 << 20) { self.limit = limit }

  func head(_ head: ResponseHead) { responseHead = head }

  func body(_ more: UnsafeRawBufferPointer) throws {
    guard bytes.count + more.count <= limit else {
      throw Failure(
        .protocolViolation, "an answer is longer than \(limit) bytes", httpStatus: responseHead?.status)
    }
    bytes += more
  }
}
