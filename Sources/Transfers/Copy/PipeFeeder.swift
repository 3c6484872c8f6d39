import Digests
import Endpoints
import HTTPClient
import JobModel

/// Reads a range of a copy's source, or all of its stream, into a pipe.
struct PipeFeeder {
  let origin: CopyOrigin
  let scope: UploadScope
  let object: RemoteObject
  let digests: CopyDigests
  /// As of a `CopyReader`.
  var pinned: () -> RemoteObject? = { nil }

  /// What breaks it is told by the pipe.
  ///
  /// - Parameter check: judges the whole before its last byte goes on.
  nonisolated(nonsending) func pour(
    _ piped: PipedRange, into pipe: BytePipe, check: nonisolated(nonsending) () async throws -> Void
  ) async {
    let (wanted, isWhole) = (piped.range, piped.range == 0..<(object.size ?? 0))
    var hasCome = false
    do {
      let digest = try piped.expected.map { try StreamingDigest($0.algorithm.kind) }
      let receiver = RangeReceiver(wanted, of: object, at: origin.source.place) { _ in
      } use: { bytes in
        if isWhole, !piped.isStream { digests.update(bytes) }
        digest?.update(bytes)
        pipe.write(bytes)
        hasCome = true
      }
      do {
        try await origin.source.read(
          isWhole ? nil : wanted, of: object, wantsDigest: false, into: PausingReceiver(receiver, pipe))
      } catch is RangeReceiver.Enough {}
      guard receiver.reached == wanted.upperBound else { throw origin.endedEarly(receiver.reached) }
      if let digest, let expected = piped.expected, digest.finishHex() != expected.hex {
        throw Failure(
          .remoteChanged, "\(origin.source.place) gave other bytes when it was read again",
          class: .sourceChanged)
      }
      if isWhole, !piped.isStream { try await check() }
      pipe.end(nil)
    } catch {
      // None of it has gone on.
      if !hasCome, !object.isPinned, Failure(error).class == .sourceChanged, let version = pinned() {
        await PipeFeeder(origin: origin, scope: scope, object: version, digests: digests)
          .pour(piped, into: pipe, check: check)
      } else {
        pipe.end(error)
      }
    }
    scope.record.count(origin.requester.takeTally())
  }
}

/// A receiver that pauses its source while the pipe behind it is full.
private final class PausingReceiver: ByteReceiver {
  private let inner: RangeReceiver
  private let pipe: BytePipe

  init(_ inner: RangeReceiver, _ pipe: BytePipe) { (self.inner, self.pipe) = (inner, pipe) }

  func open(_ opening: Opening) throws { try inner.open(opening) }
  func take(_ bytes: UnsafeRawBufferPointer) throws { try inner.take(bytes) }
  func mustWait(_ resume: @escaping @Sendable () -> Void) -> Bool { pipe.mustWait(resume) }
}
