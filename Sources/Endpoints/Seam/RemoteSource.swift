package import JobModel

/// Bytes that can be read from where they are: an object on a server, or a local file.
///
/// A source says what is there and gives its bytes. It neither retries nor counts, and decides nothing about a transfer.
/// What it refuses is a `Failure` whose class says what may be done.
package protocol RemoteSource {
  /// Names it in messages.
  var place: String { get }
  /// The server or the machine that it lies on.
  var origin: String { get }
  /// The name of its bytes, as far as its place tells one.
  var name: String { get }
  /// Digests of the whole that it gives for certain.
  var promisedDigests: Set<DigestAlgorithm> { get }
  /// As of `DownloadTraits`.
  var firstRangeDescribes: Bool { get }
  /// It gives any range that it is asked for.
  var promisesRanges: Bool { get }
  /// The object's id in the report, where it has one.
  func remoteID(of object: RemoteObject) -> String?
  /// The object as it was first seen, to be read on although another has taken its name; nil where no versions are kept,
  /// or where it was tried.
  func pinned(_ object: RemoteObject) -> RemoteObject?

  /// What is there, where it is to be asked for before the bytes; nil where the first read tells it.
  ///
  /// - Parameter known: what is recorded; a version in it stays the one that is read.
  nonisolated(nonsending) func describe(_ known: RemoteObject) async throws -> RemoteObject?
  /// What is there now, without reading a byte of it.
  nonisolated(nonsending) func probe() async throws -> RemoteObject
  /// The same of a known object: of its version, where requests name that (`RemoteObject.isPinned`).
  nonisolated(nonsending) func probe(of known: RemoteObject) async throws -> RemoteObject
  /// Reads a range, or everything where `range` is nil. All that the opening announces has been taken when it returns.
  ///
  /// - Parameters:
  ///   - object: what is known so far; another version is told as `changed`.
  ///   - wantsDigest: the opening is to come with a digest of the range, if that can be had.
  nonisolated(nonsending) func read(
    _ range: Range<Int64>?, of object: RemoteObject, wantsDigest: Bool, into receiver: any ByteReceiver
  ) async throws
  /// A digest of a range, made where the bytes are; nil where none can be had.
  nonisolated(nonsending) func digest(of range: Range<Int64>, of object: RemoteObject) async throws
    -> RangeDigest?
  /// The object's tags, or why the store does not tell them; nil where it knows none.
  nonisolated(nonsending) func tags(of object: RemoteObject) async throws -> Result<
    [String: String], Failure
  >?
}

extension RemoteSource {
  package var firstRangeDescribes: Bool { false }
  package var promisesRanges: Bool { true }
  package nonisolated(nonsending) func probe(of known: RemoteObject) async throws -> RemoteObject {
    try await probe()
  }
  package nonisolated(nonsending) func tags(
    of object: RemoteObject
  ) async throws -> Result<[String: String], Failure>? { nil }
}

/// Takes what a source reads, on the executor of who asked for it. What it throws ends the read.
package protocol ByteReceiver: AnyObject {
  /// Told before the first byte.
  func open(_ opening: Opening) throws
  func take(_ bytes: UnsafeRawBufferPointer) throws
  /// True where no more can be taken for now: `resume` is then called once, from any thread, when it can.
  func mustWait(_ resume: @escaping @Sendable () -> Void) -> Bool
}

extension ByteReceiver {
  package func mustWait(_ resume: @escaping @Sendable () -> Void) -> Bool { false }

  /// Waits until more can be taken.
  package nonisolated(nonsending) func room() async {
    await withCheckedContinuation { continuation in
      if !mustWait({ continuation.resume() }) { continuation.resume() }
    }
  }
}

/// What a source is about to give.
package struct Opening: Sendable, Hashable {
  package enum Extent: Sendable, Hashable {
    /// These bytes; they begin where was asked for, and may end before.
    case bytes(Range<Int64>)
    /// All bytes from the first on, whatever was asked for; the length is nil where it is not known.
    case whole(length: Int64?)
    /// None: the object is empty.
    case nothing
    /// None: the object is not the one that is known.
    case changed
  }
  package var extent: Extent
  /// What is told of the object.
  package var seen: RemoteObject
  /// Of these bytes alone.
  package var digest: RangeDigest?
  /// Why these bytes can't be used where no digest of the whole proves that they belong with the others; nil where they can.
  package var untied: Failure?

  package init(
    _ extent: Extent, seen: RemoteObject = RemoteObject(), digest: RangeDigest? = nil, untied: Failure? = nil
  ) {
    self.extent = extent
    self.seen = seen
    self.digest = digest
    self.untied = untied
  }
}

/// A digest of some bytes of an object, lower-case hex.
package struct RangeDigest: Sendable, Hashable {
  package var algorithm: DigestAlgorithm
  package var hex: String

  package init(_ algorithm: DigestAlgorithm, _ hex: String) {
    self.algorithm = algorithm
    self.hex = hex
  }
}
