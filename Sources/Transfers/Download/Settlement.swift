import Endpoints
import HTTPClient
import JobLedger
import JobModel
import LocalFiles

/// Ends a download without moving a byte where it can: a completion that still stands, a file that is there already.
struct Settlement {
  private let record: TransferRecord
  private let source: any RemoteSource
  private let file: DestinationFile
  /// What the source was asked for; nothing where it was not.
  private var object: RemoteObject
  private let listed: ListedLook
  /// The file at the destination that this transfer, or one that left the manifest, put there: it may be replaced whatever
  /// `if_exists` says.
  private(set) var own: FileFacts?

  init(
    of record: TransferRecord, at file: DestinationFile, source: any RemoteSource, seen object: RemoteObject,
    listed: ListedLook
  ) {
    self.record = record
    self.source = source
    self.file = file
    self.object = object
    self.listed = listed
  }

  private var context: TransferContext { record.context }
  private var settings: TransferSettings { record.transfer.settings }
  private var expect: Expectation { record.transfer.expect }
  private var verification: DownloadVerification { DownloadVerification(record, of: source.place) }

  /// - Returns: nil where the bytes are to be moved.
  nonisolated(nonsending) mutating func end() async throws -> TransferEnd? {
    let present = try file.present()
    if let present, try await wasRenamed(present) {
      // Killed between the rename and its record: the file is ours, and the digests say that it is whole.
      let opened = try file.folder.reading(file.name)
      let attributes = record.progress.remote.attributes
      let mode = settings.preserve.asks(for: .mode) ? attributes.mode : nil
      let refused = try FileMode(settings.mode ?? mode, settings).give(to: opened, at: file.path)
      if let refused { record.note(withoutMode: refused) }
      record.note(.placed(try opened.facts()))
      record.noteBoot()
      record.note(.reused(present.size))
      context.run.writer.submit(.noChunks(seq: record.transfer.seq))
      return .finished
    }
    if let present, isOwn(present) {
      own = present
    } else {
      // Whatever is put there from now on is not what was intended then.
      record.note(.intended(nil))
    }
    if record.progress.completedAt != nil, record.isUnverified {
      if present == nil { try file.expectFileSystem() }
      guard try await survivedThePowerCut(present) else {
        if present != nil || record.progress.bootID != nil {
          record.warn(
            "what was complete did not reach the disk before the machine went down, or could not be written to it: it is fetched again"
          )
        }
        record.fallen = .damaged
        record.restart(.completionGone)
        // Whatever its digest is in memory; but what somebody else has put there since is a stranger's.
        guard let present, own == nil else { return nil }
        return try await settleStranger(present)
      }
      // Completed in this very run: verified once more, it counts.
      if record.transfer.progress.startedAt != nil { return .finished }
    }
    if record.progress.completedAt != nil {
      if present == nil { try file.expectFileSystem() }
      record.fallen = try await reasonToMove(present)
      if record.fallen == nil {
        if record.refresh != .never, !record.isCompletedInThisRun {
          record.note(.reused(present?.size ?? 0))
        }
        return record.standing()
      }
      record.restart(.completionGone)
      if own != nil { return nil }
    }
    guard let present, own == nil || !record.isUnverified else { return nil }
    return try await settleStranger(present)
  }

  /// Looks at what has taken the name while the bytes came.
  ///
  /// - Returns: nil where it may be replaced, or is gone.
  nonisolated(nonsending) mutating func endAnew() async throws -> TransferEnd? {
    guard let present = try file.present(), !isOwn(present) else { return nil }
    record.note(.intended(nil))
    return try await settleStranger(present)
  }

  private nonisolated(nonsending) func wasRenamed(_ present: FileFacts) async throws -> Bool {
    guard present.inode == record.progress.intendedInode, record.progress.completedAt == nil,
      present.size == record.progress.size,
      // A power cut may have emptied it, and without a digest its size is no proof.
      !record.progress.digests.isEmpty || record.progress.bootID == context.run.bootID
    else { return false }
    return try await hasRecordedDigests()
  }

  private nonisolated(nonsending) func hasRecordedDigests() async throws -> Bool {
    try await file.digests(of: record.progress.digests.keys) == record.progress.digests
  }

  /// The transfer's own file, unless somebody has changed it since; or what a power cut left of one that had just
  /// taken its name.
  private func isOwn(_ present: FileFacts) -> Bool {
    if present.isSame(as: record.progress.destination) { return true }
    guard record.isUnverified, let intended = record.progress.updatedAt else { return false }
    return present.inode == record.progress.intendedInode && Double(present.mtime) / 1e9 <= intended
  }

  /// A file that this transfer did not write stands at the destination.
  private nonisolated(nonsending) mutating func settleStranger(
    _ present: FileFacts
  ) async throws -> TransferEnd? {
    try await context.run.writer.barrier()
    if let owner = try context.run.ledger.owner(of: present, besides: record.transfer.seq)
      ?? record.ownerElsewhere?(present)
    {
      throw Failure.written(file.path, by: owner)
    }
    var wanted = expect.digests
    if wanted.isEmpty {
      if object == RemoteObject() { object = try await source.probe() }
      wanted = object.digests
    }
    if !wanted.isEmpty, expect.size ?? present.size == present.size,
      object.size ?? present.size == present.size, try await file.digests(of: wanted.keys) == wanted
    {
      // What an earlier attempt compared was not this, or with what the manifest said then.
      record.note(.unproved)
      try await checkType(present)
      for (algorithm, _) in wanted {
        record.check(Verification(algorithm.rawValue, expect.digests.isEmpty ? .server : .manifest, .match))
      }
      try await Adoption(record: record, source: source, file: file, present: present, digests: wanted)
        .run(object)
      record.note(.completed(at: context.client.clock.now()))
      record.noteBoot()
      return .settled(.adopted)
    }
    guard own == nil else { return nil }
    let path = record.plannedPath ?? record.transfer.destination.text
    if settings.ifExists != .replace, try context.run.ledger.wrote(present, at: path) {
      own = present
      return nil
    }
    switch settings.ifExists {
    case .replace: return nil
    case .keep: return .skipped(.exists)
    case .fail: throw Failure(.destinationExists, "`\(file.path)` exists already")
    }
  }

  private nonisolated(nonsending) func checkType(_ present: FileFacts) async throws {
    let opened = try file.folder.reading(file.name)
    try await verification.checkType(size: present.size, on: context.local.pool) {
      try opened.bytes(at: $0, count: $1)
    }
  }

  /// Why what was completed is to be moved again; nil where it stands.
  private nonisolated(nonsending) func reasonToMove(
    _ present: FileFacts?
  ) async throws -> MovedBecause? {
    guard let present else { return .destinationChanged }
    switch record.refresh {
    case .always: return .asked
    case .never:
      guard try await expectationsHold(present) else { return .sourceChanged }
      return try await isUndamaged() ? nil : .damaged
    case .changed:
      guard let recorded = record.progress.destination, present.size == recorded.size,
        present.mtime == recorded.mtime
      else { return .destinationChanged }
      guard try await expectationsHold(present) else { return .sourceChanged }
      guard try await isUndamaged() else { return .damaged }
      return try await reasonOfSource(present)
    }
  }

  /// Recorded digests answer for expectations; a new algorithm is computed from the bytes at hand.
  private nonisolated(nonsending) func expectationsHold(_ present: FileFacts) async throws -> Bool {
    if let size = expect.size, size != present.size { return false }
    // With `refresh: never` another file may stand there, of which the record says nothing.
    let recorded = record.progress.destination
    let isRecorded = recorded?.size == present.size && recorded?.mtime == present.mtime
    for (algorithm, digest) in expect.digests {
      if let recorded = record.progress.digests[algorithm] {
        if recorded != digest { return false }
        guard isRecorded else { continue }
      } else {
        let found = try await file.digests(of: [algorithm])
        if found[algorithm] != digest { return false }
        record.note(.hashed(record.progress.digests.merging([algorithm: digest]) { $1 }))
      }
      // An expectation that came later proves the file as one that was there from the start.
      let match = Verification(algorithm.rawValue, .manifest, .match)
      if !record.progress.verification.contains(match) { record.check(match) }
    }
    guard expect.type != nil else { return true }
    do {
      try await checkType(present)
      return true
    } catch let failure as Failure where failure.code == .typeMismatch { return false }
  }

  /// Reads a completed file again where everything is to be read.
  private nonisolated(nonsending) func isUndamaged() async throws -> Bool {
    guard context.checksEverything, !record.progress.digests.isEmpty else { return true }
    return try await hasRecordedDigests()
  }

  /// Reads an unsynced completion of an earlier boot again: its record says less than its bytes.
  private nonisolated(nonsending) func survivedThePowerCut(_ present: FileFacts?) async throws -> Bool {
    guard let present, record.progress.bootID != TransferProgress.noBoot,
      present.size == record.progress.size, !record.progress.digests.isEmpty, try await hasRecordedDigests()
    else { return false }
    record.note(.placed(present))
    record.noteBoot()
    return true
  }

  /// Why the source is to be fetched again; nil where it is as recorded, or is not to be asked.
  private nonisolated(nonsending) func reasonOfSource(
    _ present: FileFacts
  ) async throws -> MovedBecause? {
    // The bytes that the manifest names are there, whatever the source holds by now.
    if expect.digests.keys.contains(where: \.isCryptographic) { return nil }
    let known = record.progress.remote
    // A file that the manifest's digest vouched for was taken as it was: its source is not known at all.
    let wasAsked = known != RemoteObject()
    // What a server never identified can't be known to be unchanged; a digest in the manifest says what is wanted.
    if !known.isIdentified {
      guard expect.digests.isEmpty else { return nil }
      guard !wasAsked else {
        warnOfNoVersion()
        return .asked
      }
    }
    record.note(.expected(expect))
    let isProved = settings.isProved(by: record.progress.verification)
    if isProved, wasAsked, try await listed.isAsRecorded(known) { return nil }
    let seen = try await source.probe()
    guard seen.isIdentified else {
      warnOfNoVersion()
      return .asked
    }
    if !wasAsked || !known.isSameVersion(as: seen) {
      // Not every other version has other bytes: a server that was moved gives all files new tags.
      guard record.progress.hasBytes(of: seen) else { return .sourceChanged }
      let digests = record.progress.digests
      try await Adoption(record: record, source: source, file: file, present: present, digests: digests)
        .run(seen)
    }
    return isProved ? nil : try await prove(by: seen)
  }

  /// Compares a completed file, of which nothing on record is the proof that `verify` demands by now, with what its source tells.
  ///
  /// - Returns: why it is fetched again; nil where it is proved.
  private nonisolated(nonsending) func prove(by seen: RemoteObject) async throws -> MovedBecause? {
    // The answer to a GET may tell one.
    guard !seen.digests.isEmpty else { return .asked }
    var digests = record.progress.digests
    let unknown = seen.digests.keys.filter { digests[$0] == nil }
    if !unknown.isEmpty { digests.merge(try await file.digests(of: unknown)) { $1 } }
    for (algorithm, digest) in seen.digests {
      guard digests[algorithm] == digest else { return .damaged }
      record.check(Verification(algorithm.rawValue, .server, .match))
    }
    record.note(.hashed(digests))
    return nil
  }

  /// Once a run and server: a plan may have a million such files.
  private func warnOfNoVersion() {
    let origin = source.origin
    guard context.said.isFirst(origin) else { return }
    record.warn(
      "\(origin) tells no version of it (no ETag, no Last-Modified, no digest), so that it is fetched again in each run; so are others from there",
      hint: "give `expect` a digest, or write `refresh: never`")
  }
}

extension FileFacts {
  /// The same file, and nobody has written to it since.
  func isSame(as other: FileFacts?) -> Bool { inode == other?.inode && mtime == other?.mtime }
}
