import Endpoints
import HTTPClient
import JobModel

/// Asks what a copy's source is, and which version of it is copied.
struct CopyLook {
  let origin: CopyOrigin
  let scope: UploadScope
  private var source: any RemoteSource { origin.source }
  private var record: TransferRecord { scope.record }

  /// Asks what is there. A completion that the manifest's own digest vouches for needs no look at the source, and one whose
  /// source a listing tells as it is on record needs no request of its own.
  ///
  /// - Returns: the object, whether it is the one on record, of which nothing was asked, and its bytes where they came along.
  nonisolated(nonsending) func find() async throws
    -> (object: RemoteObject, isRecorded: Bool, whole: BufferedChunk?)
  {
    if let standing { return (standing, true, nil) }
    let progress = record.progress
    if progress.completedAt != nil, record.refresh == .changed, let known = progress.sourceObject,
      try await ListedLook(record, origin.requester, isOfCopiesSource: true).isAsRecorded(known)
    {
      return (known, true, nil)
    }
    if let read = try await WholeRead(origin: origin, scope: scope).take() {
      return (read.object, false, read.chunk)
    }
    return (try await look(begun: progress.session == nil ? nil : progress.sourceObject), false, nil)
  }

  /// The object of a completion that needs no look at its source.
  private var standing: RemoteObject? {
    record.progress.completedAt != nil && mayStand ? record.progress.sourceObject : nil
  }

  private var mayStand: Bool {
    let (expected, progress) = (scope.expect.digests.keys, record.progress)
    // What the manifest demands by now is not there: the source may have it.
    guard !progress.contradicts(scope.expect) else { return false }
    switch record.refresh {
    case .never: return true
    case .always: return false
    case .changed:
      // A digest that is not on record is read of what the source has by now.
      return !scope.context.checksEverything && expected.contains(where: \.isCryptographic)
        && expected.allSatisfy { progress.digests[$0] != nil }
    }
  }

  /// - Parameter begun: the object that an earlier attempt has sent a part of.
  nonisolated(nonsending) func look(begun: RemoteObject?) async throws -> RemoteObject {
    var seen: RemoteObject
    if let told = try await source.describe(begun ?? RemoteObject()) {
      seen = told
    } else if let begun, begun.isPinned {
      // Requests name its version, which never changes, whatever has its name now.
      seen = begun
    } else {
      seen = try await source.probe()
    }
    if let begun, !begun.isSameVersion(as: seen), let pinned = source.pinned(begun) {
      warn(copiesOn: begun)
      seen = pinned
    }
    if seen.size == nil { seen.size = try await size(of: seen) }
    guard seen.size != nil else {
      throw Failure(
        .protocolViolation,
        "\(source.place) tells no size, which a destination has to be told beforehand: download it first, then upload it",
        class: .permanent)
    }
    return seen
  }

  /// The size that an answer with the bytes tells, of which no more is read than its head: Apache leaves `Content-Length: 0` out of
  /// answers to HEAD.
  private nonisolated(nonsending) func size(of object: RemoteObject) async throws -> Int64? {
    defer { record.count(origin.requester.takeTally()) }
    return try await origin.requester.retrying { _ in
      let receiver = SizeReceiver()
      do {
        try await source.read(nil, of: object, wantsDigest: false, into: receiver)
      } catch is RangeReceiver.Enough {}
      return .done(receiver.size)
    }
  }

  func warn(copiesOn begun: RemoteObject) {
    record.warn("the source changed: its version \(begun.version ?? ""), which was begun with, is copied on")
  }

  /// An object of the record's with its attributes, which the record does not keep.
  nonisolated(nonsending) func described(_ object: RemoteObject) async throws -> RemoteObject {
    do { return try await source.probe(of: object) } catch let failure as Failure
      where object.isPinned && [403, 404, 405].contains(failure.httpStatus)
    {
      // As where its bytes are asked for: the object that has the name now is left.
      throw failure.classed(.sourceChanged)
    }
  }

  /// Looks whether the source still is what it was: not every store keeps to the condition that binds requests to a version.
  nonisolated(nonsending) func confirm(_ object: RemoteObject) async throws {
    // A version that requests name never changes.
    guard let seen = try await source.describe(object) else { return }
    guard !object.isSameVersion(as: seen) else { return }
    throw Failure(
      .remoteChanged, "\(source.place) changed while it was copied", class: .sourceChanged,
      expected: object.etag, actual: seen.etag)
  }

  /// Reads an object that is said to be empty: a HEAD may say so of one that is not.
  nonisolated(nonsending) func confirmEmptiness(of object: RemoteObject) async throws {
    defer { record.count(origin.requester.takeTally()) }
    try await origin.requester.retrying { _ in
      let receiver = RangeReceiver(0..<0, of: object, at: source.place) {
        scope.countUnsent(Int64($0))
      } use: { _ in
      }
      return .done(try await source.read(nil, of: object, wantsDigest: false, into: receiver))
    }
  }
}

/// Takes the size that an answer tells, and none of its bytes.
private final class SizeReceiver: ByteReceiver {
  private(set) var size: Int64?

  func open(_ opening: Opening) throws {
    size = opening.seen.size
    // An empty body is over with its head, and its connection is of use.
    guard size == 0 else { throw RangeReceiver.Enough() }
  }

  func take(_ bytes: UnsafeRawBufferPointer) throws {
    size = nil
    throw RangeReceiver.Enough()
  }
}
