import Endpoints
import HTTPClient
import JobModel

/// The one stream of a copy's source that serves no ranges: chunks are taken from it in their order.
///
/// Belongs to one transfer's actor.
final class CopyStream {
  private let origin: CopyOrigin
  private let scope: UploadScope
  private let turn = AsyncTurn()
  private var current: (pipe: BytePipe, position: Int64, task: Task<Void, Never>)?

  init(_ origin: CopyOrigin, _ scope: UploadScope) { (self.origin, self.scope) = (origin, scope) }

  func cancel() {
    current?.task.cancel()
    current = nil
  }

  /// Takes a chunk from the stream, which is begun anew where the chunk lies before its place.
  ///
  /// - Parameter begin: reads everything into a pipe.
  nonisolated(nonsending) func fill(
    _ loan: BufferBudget.Loan, _ range: Range<Int64>, of object: RemoteObject,
    begin: (BytePipe) -> Task<Void, Never>
  ) async throws {
    await turn.take()
    defer { turn.leave() }
    try await origin.requester.retrying {
      do { try await self.take(loan, range, of: object, begin) } catch {
        self.cancel()
        throw error
      }
    }
  }

  private nonisolated(nonsending) func take(
    _ loan: BufferBudget.Loan, _ range: Range<Int64>, of object: RemoteObject,
    _ begin: (BytePipe) -> Task<Void, Never>
  ) async throws {
    if let current, current.position > range.lowerBound { cancel() }
    let (pipe, reached, task) = try current ?? start(at: range.lowerBound, of: object, begin)
    var position = reached
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while position < range.upperBound {
      try Task.checkCancellation()
      await withTaskCancellationHandler {
        await pipe.waitForBytes()
      } onCancel: {
        task.cancel()
      }
      let wanted = (position < range.lowerBound ? range.lowerBound : range.upperBound) - position
      let count = try buffer.withUnsafeMutableBytes {
        try pipe.read(into: .init(rebasing: $0.prefix(Int(min(Int64($0.count), wanted)))))
      }
      guard count > 0 else { throw origin.endedEarly(position) }
      if position < range.lowerBound {
        scope.countUnsent(Int64(count))
      } else {
        buffer.withUnsafeBytes {
          loan.write(.init(rebasing: $0.prefix(count)), at: Int(position - range.lowerBound))
        }
      }
      position += Int64(count)
      current?.position = position
    }
  }

  private func start(
    at offset: Int64, of object: RemoteObject, _ begin: (BytePipe) -> Task<Void, Never>
  ) throws -> (pipe: BytePipe, position: Int64, task: Task<Void, Never>) {
    guard object.isTied || offset == 0 else {
      throw Failure(
        .remoteChanged,
        "\(origin.source.place) broke off, and nothing tells whether what it gives now is the same object",
        class: .sourceChanged)
    }
    let pipe = BytePipe()
    let begun = (pipe: pipe, position: Int64(0), task: begin(pipe))
    current = begun
    return begun
  }
}
