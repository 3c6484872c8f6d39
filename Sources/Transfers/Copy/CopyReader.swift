import Digests
import Endpoints
import HTTPClient
import JobModel

/// Reads ranges of one version of a copy's source.
struct CopyReader {
  let origin: CopyOrigin
  let scope: UploadScope
  let object: RemoteObject
  /// The object as it was first seen, where another one has taken its name and the store keeps versions.
  var pinned: () -> RemoteObject? = { nil }

  /// Reads a range; what a broken connection brought is kept, and only the rest asked for again.
  ///
  /// - Parameter use: given the bytes in order, and where each piece begins.
  nonisolated(nonsending) func read(
    _ range: Range<Int64>, _ use: @escaping (UnsafeRawBufferPointer, Int64) -> Void
  ) async throws {
    guard !range.isEmpty else { return }
    var (reached, before) = (range.lowerBound, range.lowerBound)
    var (version, untied) = (object, 0)
    defer { scope.record.count(origin.requester.takeTally()) }
    try await origin.requester.retrying { _ in
      before = reached
      let receiver = RangeReceiver(
        reached..<range.upperBound, of: version, at: origin.source.place
      ) {
        scope.countUnsent(Int64($0))
      } use: { bytes in
        use(bytes, reached)
        reached += Int64(bytes.count)
      }
      switch try await take(reached..<range.upperBound, of: version, receiver, after: untied) {
      case .read: untied = 0
      case .untied: untied += 1
      case .overtaken(let failure):
        guard reached < range.upperBound, let first = pinned() else { throw failure }
        version = first
        return Attempt<Void>.more
      }
      guard reached < range.upperBound else { return .done(()) }
      // A server may answer with less than was asked for; it must answer with something.
      guard reached > before || untied > 0 else {
        throw Failure(
          .protocolViolation, "\(origin.source.place) answered, and none of what was asked for came")
      }
      return .more
    } recover: { _, _ in
      reached > before ? .progress : .none
    }
  }

  private enum ReadOutcome {
    case read
    /// Without the ETag that ties it to other ranges: one back end of many may not tell it.
    case untied
    /// Another object has the name now.
    case overtaken(Failure)
  }

  private nonisolated(nonsending) func take(
    _ range: Range<Int64>, of object: RemoteObject, _ receiver: RangeReceiver, after untied: Int
  ) async throws -> ReadOutcome {
    do {
      try await origin.source.read(range, of: object, wantsDigest: false, into: receiver)
    } catch is RangeReceiver.Enough {
    } catch let failure as Failure {
      if Fetch.asksAgain(after: failure, untied: untied) { return .untied }
      guard failure.class == .sourceChanged, !object.isPinned else { throw failure }
      return .overtaken(failure)
    }
    return .read
  }

  nonisolated(nonsending) func read(
    _ range: Range<Int64>, _ use: @escaping (UnsafeRawBufferPointer) -> Void
  ) async throws {
    try await read(range) { bytes, _ in use(bytes) }
  }

  /// Digests of a range, which is read for them alone.
  nonisolated(nonsending) func digests(
    of range: Range<Int64>, _ algorithms: some Collection<DigestAlgorithm> & Sendable
  ) async throws -> [DigestAlgorithm: String] {
    let digests = try DigestSet(Set(algorithms.map(\.kind)))
    try await read(range) { digests.update($0) }
    scope.countUnsent(Int64(range.count))
    return DigestAlgorithm.named(digests.finish())
  }
}
