/// What is recorded of one transfer beyond its plan; saved whole whenever it changes.
package struct TransferProgress: Sendable, Hashable {
  /// Bytes.
  package var size: Int64?
  /// In place of the manifest's: smaller, after a mismatch.
  package var chunkSize: Int64?
  /// What `chunk_size: auto` came to when the first chunk began; of an upload's session, what was agreed to.
  package var automaticChunk: Int64?
  @usableFromInline var sharedRemote = CopyOnWrite(wrappedValue: RemoteObject())
  /// The protocol's own record of its open upload session.
  @CopyOnWriteOptional package var session: RemoteSession? = nil
  package var sessionState = SessionState.none
  package var remoteID: String?
  /// The file name that the server gave, sanitised, where the destination leaves the name open.
  package var resolvedDestination: String?
  package var source: FileFacts?
  package var destination: FileFacts?
  package var digests: [DigestAlgorithm: String] = [:]
  package var verification: [Verification] = []
  package var chunksTotal = 0
  package var chunksCompleted = 0
  package var chunksReused = 0
  package var contiguousBytes: Int64 = 0
  package var transferred: Int64 = 0
  package var reused: Int64 = 0
  package var discarded: Int64 = 0
  package var requests = 0
  package var retries = 0
  package var attempts = 0
  package var maxChunkAttempts = 0
  package var lastHTTPStatus: Int?
  /// Seconds since 1970.
  package var startedAt: Double?
  package var endedAt: Double?
  package var updatedAt: Double?
  /// Seconds of work in this run.
  package var duration: Double = 0
  @CopyOnWriteOptional package var failure: Failure? = nil
  package var failedAt: Double?
  /// Fresh starts after a change or a mismatch, in this run; of a download, 1 stands for a change and 2 for a mismatch.
  package var freshStarts = 0
  /// The intended promotion: inode of the verified part file, recorded before the rename.
  package var intendedInode: UInt64?
  /// When a completion that still stands was recorded; outlives runs until the transfer starts anew.
  package var completedAt: Double?
  /// The completion's file and folder are known to be on disk.
  package var isSynced = false
  /// The boot in which an unsynced completion, or the intent of one, was recorded.
  package var bootID: String?
  /// Why it is moved in this run; nil where nothing has to be.
  package var movedBecause: MovedBecause?
  /// Of a copy: the object that its bytes are read from.
  @CopyOnWriteOptional package var sourceObject: RemoteObject? = nil
  package var copiedBy: CopiedBy?
  package var attributes = KeptAttributes()
  /// The request that ties the file to its record; nil where none was to be made.
  @CopyOnWriteOptional package var attach: AttachRecord? = nil
  /// In place of a boot: the completion's sync failed, and memory may show bytes that the disk does not have.
  package static let noBoot = "lost"

  package init() {}

  /// The object at the remote: of a download its source, of an upload what was made of it.
  @inlinable package var remote: RemoteObject {
    _read { yield sharedRemote.wrappedValue }
    _modify { yield &sharedRemote.wrappedValue }
  }

  /// All but the attach request is done.
  package var isAttaching: Bool { completedAt != nil && attach.map { $0.state != .attached } ?? false }

  /// What is on record of a completion is not what the manifest expects by now.
  package func contradicts(_ expect: Expectation) -> Bool {
    if let wanted = expect.size, let size, wanted != size { return true }
    return expect.digests.contains { algorithm, digest in
      digests[algorithm].map { $0 != digest } ?? false
    }
  }

  /// A completed download's digests on record name the bytes that its source has by now, whatever tag they have there.
  package func hasBytes(of seen: RemoteObject) -> Bool {
    guard seen.size == nil || size == nil || seen.size == size else { return false }
    let known = seen.digests.filter { digests[$0.key] != nil }
    return known.keys.contains(where: \.isCryptographic) && known.allSatisfy { digests[$0.key] == $0.value }
  }

  /// Nothing speaks against its being the file that an upload, or a copy, has put there.
  package func isAtDestination(_ seen: RemoteObject, size: Int64?) -> Bool {
    if let told = seen.size, let size, told != size { return false }
    let known = seen.digests.filter { digests[$0.key] != nil }
    guard known.isEmpty else { return known.allSatisfy { digests[$0.key] == $0.value } }
    return remote.hasMark(of: seen) ?? true
  }

  /// What is long to record and seldom changes is as it is in this one.
  package func hasFacts(of other: TransferProgress) -> Bool {
    remote == other.remote && session == other.session && resolvedDestination == other.resolvedDestination
      && source == other.source && digests == other.digests && verification == other.verification
      && failure == other.failure && sourceObject == other.sourceObject && attributes == other.attributes
      && attach == other.attach
  }
}

/// What came of a transfer's `preserve`.
package struct KeptAttributes: Sendable, Hashable {
  package var preserved: Set<Attribute>
  package var lost: Set<Attribute>

  package init(preserved: Set<Attribute> = [], lost: Set<Attribute> = []) {
    self.preserved = preserved
    self.lost = lost
  }
}

/// Why a run moves a transfer's bytes.
package enum MovedBecause: String, Sendable, Hashable, CaseIterable {
  /// It was never completed, and nothing of it had failed.
  case new
  case sourceChanged = "source_changed"
  /// Missing, or not as this job left it.
  case destinationChanged = "destination_changed"
  /// What was completed is not what it was, or did not reach the disk.
  case damaged
  /// It failed, or paused, in an earlier run.
  case retried
  /// `refresh: always`, `retry --from-scratch`, a source whose version nobody tells, or a digest that `verify: required` lacks.
  case asked
}

/// Who moves the bytes of a copy.
package enum CopiedBy: String, Sendable, Hashable, CaseIterable {
  /// They pass through haul.
  case relay
  /// The service that has both ends.
  case service
}

/// Where a remote session stands, by what is on record.
package enum SessionState: String, Sendable, Hashable, CaseIterable { case none, open, finalizing, closed }

/// What identifies a local file's content cheaply: any difference means it changed.
package struct FileFacts: Sendable, Hashable {
  package var size: Int64
  /// Nanoseconds since 1970.
  package var mtime: Int64
  package var ctime: Int64
  package var inode: UInt64
  /// The sampled fingerprint, where it was taken; hex.
  package var fingerprint: String?

  package init(size: Int64, mtime: Int64, ctime: Int64, inode: UInt64, fingerprint: String? = nil) {
    self.size = size
    self.mtime = mtime
    self.ctime = ctime
    self.inode = inode
    self.fingerprint = fingerprint
  }
}

/// One check of a transfer's bytes and how it came out.
package struct Verification: Sendable, Hashable {
  /// Whose word the bytes were compared with.
  package enum Against: String, Sendable, Hashable, CaseIterable { case manifest, server, local }
  package enum Result: String, Sendable, Hashable, CaseIterable { case match, mismatch, unavailable }
  package var check: String
  package var against: Against
  package var result: Result

  package init(_ check: String, _ against: Against, _ result: Result) {
    self.check = check
    self.against = against
    self.result = result
  }

  /// A digest, or something as good, matched. What the source of a copy vouches for says nothing of its destination.
  package var proves: Bool {
    result == .match && check != "size" && check != "type" && !check.hasSuffix("-of-source")
  }
}
