import Admission
import Endpoints
import HTTPClient
import JobLedger
import JobModel

/// Reads a small object whole in place of looking at it: the answer tells what a HEAD would, and its bytes are here.
struct WholeRead {
  /// Bytes that are worth a request less, held from the look on.
  private static let most: Int64 = 256 << 10

  let origin: CopyOrigin
  let scope: UploadScope

  /// Asks once, where nothing but the bytes is to be asked for, and where they are sure to be sent.
  ///
  /// - Returns: nil where the object is to be looked at instead, which also tells what is wrong with it.
  nonisolated(nonsending) func take() async throws -> (object: RemoteObject, chunk: BufferedChunk)? {
    let (size, progress) = (scope.record.transfer.knownSize ?? .max, scope.record.progress)
    guard size <= Self.most, origin.service == nil, origin.source.firstRangeDescribes,
      progress.completedAt == nil, progress.session == nil, scope.settings.ifExists == .replace,
      scope.settings.preserve.demanded.isEmpty, try await scope.listed.answer() == .absent,
      let loan = scope.context.uploads.budget.take(Int(size), for: scope.sink.origin)
    else { return nil }
    let holding = scope.requester.transfer?.buffers.hold()
    let receiver = WholeReceiver(size, into: loan)
    defer { scope.record.count(origin.requester.takeTally()) }
    do {
      try await origin.source.read(nil, of: RemoteObject(), wantsDigest: false, into: receiver)
    } catch  where error is Failure || error is TransportError || error is RangeReceiver.Enough {}
    guard let object = receiver.object, receiver.reached == size else {
      scope.countUnsent(receiver.reached)
      return nil
    }
    return (object, BufferedChunk(start: 0, loan: loan, holding: holding))
  }
}

/// Takes all of an object that is as large as it is said to be.
private final class WholeReceiver: ByteReceiver {
  private let size: Int64
  private let loan: BufferBudget.Loan
  /// nil for another one.
  private(set) var object: RemoteObject?
  private(set) var reached: Int64 = 0

  init(_ size: Int64, into loan: BufferBudget.Loan) { (self.size, self.loan) = (size, loan) }

  func open(_ opening: Opening) throws {
    // Chunked coding tells no length beforehand.
    guard case .whole(let length) = opening.extent, length ?? size == size else {
      throw RangeReceiver.Enough()
    }
    object = opening.seen
    object?.size = size
  }

  func take(_ bytes: UnsafeRawBufferPointer) throws {
    guard reached + Int64(bytes.count) <= size else {
      object = nil
      throw RangeReceiver.Enough()
    }
    loan.write(bytes, at: Int(reached))
    reached += Int64(bytes.count)
  }
}
