import Digests
import Endpoints
import JobLedger
import JobModel
import LocalFiles

/// What can be settled before a byte is moved: completions that still stand, files that are there already.
extension Download {
  func settleWithoutMoving() async throws -> TransferEnd? {
    if let obstacle = settings.obstacle { throw obstacle.failure(book.transfer.source.text) }
    guard !book.transfer.takesSourceName || book.progress.resolvedDestination != nil else {
      // The name is the server's to say, and everything else depends on it.
      object = try await source.probe()
      return try await settle(try place(named: object.fileName))
    }
    return try await settle(try place(named: nil))
  }

  private func settle(_ present: FileFacts?) async throws -> TransferEnd? {
    let folder = try requireFolder()
    if let inode = book.progress.intendedInode, let present, present.inode == inode,
      book.progress.completedAt == nil,
      present.size == book.progress.size,
      try await digests(of: Set(book.progress.digests.keys)) == book.progress.digests
    {
      // Killed between the rename and its record: the file is ours, and the digests say that it is whole.
      let file = try folder.reading(name)
      try file.setMode(settings.mode)
      book.note(.placed(try file.facts()))
      noteBoot()
      book.note(.reused(present.size))
      context.writer.submit(.noChunks(seq: book.transfer.seq))
      return .finished
    }
    if let present, isOwn(present) {
      own = present
    } else {
      // Whatever is put there from now on is not what was intended then.
      book.note(.intended(nil))
    }
    if book.progress.completedAt != nil, isDoubtful {
      if present == nil { try expectFileSystem() }
      guard try await survivedThePowerCut(present) else {
        if present != nil || book.progress.bootID != nil {
          book.warn(
            "what was complete did not reach the disk before the machine went down, or could not be written to it: it is fetched again"
          )
        }
        book.fallen = .damaged
        book.restart(.completionGone)
        // Whatever its digest is in memory; but what somebody else has put there since is a stranger's.
        guard let present, own == nil else { return nil }
        return try await settleStranger(present)
      }
      // Completed in this very run: verified once more, it counts.
      if book.transfer.progress.startedAt != nil { return .finished }
    }
    if book.progress.completedAt != nil {
      if present == nil { try expectFileSystem() }
      book.fallen = try await reasonToMove(present)
      if book.fallen == nil {
        if book.refresh != .never, !book.isCompletedInThisRun {
          book.note(.reused(present?.size ?? 0))
        }
        return book.standing()
      }
      book.restart(.completionGone)
      if own != nil { return nil }
    }
    guard let present else { return nil }
    if own != nil, isDoubtful { return nil }
    return try await settleStranger(present)
  }

  /// The transfer's own file, unless somebody has changed it since; or what a power cut left of one that had just
  /// taken its name.
  private func isOwn(_ present: FileFacts) -> Bool {
    if present.isSame(as: book.progress.destination) { return true }
    guard isDoubtful, let inode = book.progress.intendedInode, let intended = book.progress.updatedAt else {
      return false
    }
    return present.inode == inode && Double(present.mtime) / 1e9 <= intended
  }

  /// What stands at the destination is complete, or intended, by a record that the disk may not bear out: another
  /// boot's, or of a file that was moved away before it was synced and may be back.
  var isDoubtful: Bool {
    !book.progress.isSynced && book.progress.bootID != context.bootID
      && (book.progress.bootID != nil || book.progress.completedAt != nil)
  }

  /// From now on it is this boot's to bring to the disk.
  func noteBoot() {
    book.note(.written(boot: context.bootID))
  }

  /// A file that this job did not write stands at the destination.
  private func settleStranger(_ present: FileFacts) async throws -> TransferEnd? {
    try await context.writer.barrier()
    if let owner = try context.ledger.owner(of: present, besides: book.transfer.seq) {
      throw Failure(
        .destinationExists,
        "`\(try requireFolder().path)/\(name)` is what the transfer `\(owner)` of this job wrote")
    }
    var wanted = expect.digests
    if wanted.isEmpty {
      if object == RemoteObject() { object = try await source.probe() }
      wanted = object.digests
    }
    if !wanted.isEmpty, expect.size ?? present.size == present.size,
      object.size ?? present.size == present.size,
      try await digests(of: Set(wanted.keys)) == wanted
    {
      let file = try requireFolder().reading(name)
      try await checkType(size: present.size) { try file.bytes(at: $0, count: $1) }
      for (algorithm, _) in wanted {
        book.check(Verification(algorithm.rawValue, expect.digests.isEmpty ? .server : .manifest, .match))
      }
      adopt(present, digests: wanted)
      return .settled(.adopted)
    }
    switch settings.ifExists {
    case _ where own != nil: return nil
    case .replace: return nil
    case .keep: return .skipped(.exists)
    case .fail:
      throw Failure(.destinationExists, "`\(try requireFolder().path)/\(name)` exists already")
    }
  }

  private func adopt(_ present: FileFacts, digests: [DigestAlgorithm: String]) {
    book.note(.adopted(present, digests, object, remoteID: source.remoteID(of: object)))
    book.note(.completed(at: context.clock.now()))
    noteBoot()
  }

  /// Why what was completed is to be moved again; nil where it stands.
  private func reasonToMove(_ present: FileFacts?) async throws -> MovedBecause? {
    guard let present else { return .destinationChanged }
    switch book.refresh {
    case .always: return .asked
    case .never:
      guard try await expectationsHold(present) else { return .sourceChanged }
      return try await isUndamaged() ? nil : .damaged
    case .changed:
      guard let recorded = book.progress.destination, present.size == recorded.size,
        present.mtime == recorded.mtime
      else { return .destinationChanged }
      guard try await expectationsHold(present) else { return .sourceChanged }
      guard try await isUndamaged() else { return .damaged }
      return try await reasonOfSource()
    }
  }

  /// Recorded digests answer for expectations; a new algorithm is computed from the bytes at hand.
  private func expectationsHold(_ present: FileFacts) async throws -> Bool {
    if let size = expect.size, size != present.size { return false }
    // With `verify: size` they were not compared when the file came, and don't count now.
    for (algorithm, digest) in settings.verify == .size ? [:] : expect.digests {
      if let recorded = book.progress.digests[algorithm] {
        if recorded != digest { return false }
      } else {
        let found = try await digests(of: [algorithm])
        if found[algorithm] != digest { return false }
        book.note(.hashed(book.progress.digests.merging([algorithm: digest]) { $1 }))
      }
    }
    if expect.type != nil {
      let file = try requireFolder().reading(name)
      do { try await checkType(size: present.size) { try file.bytes(at: $0, count: $1) } } catch let failure
        as Failure
        where failure.code == .typeMismatch
      {
        return false
      }
    }
    return true
  }

  /// Reads a completed file again where everything is to be read.
  private func isUndamaged() async throws -> Bool {
    guard context.checksEverything, !book.progress.digests.isEmpty else { return true }
    return try await digests(of: Set(book.progress.digests.keys)) == book.progress.digests
  }

  /// Reads an unsynced completion of an earlier boot again: its record says less than its bytes.
  private func survivedThePowerCut(_ present: FileFacts?) async throws -> Bool {
    guard let present, book.progress.bootID != TransferProgress.noBoot, present.size == book.progress.size,
      !book.progress.digests.isEmpty,
      try await digests(of: Set(book.progress.digests.keys)) == book.progress.digests
    else { return false }
    book.note(.placed(present))
    noteBoot()
    return true
  }

  /// Why the source is to be fetched again; nil where it is as recorded, or is not to be asked.
  private func reasonOfSource() async throws -> MovedBecause? {
    // The bytes that the manifest names are there, whatever the source holds by now.
    if settings.verify != .size, expect.digests.keys.contains(where: \.isCryptographic) { return nil }
    // What a server never identified can't be known to be unchanged; a digest in the manifest says what is wanted.
    guard book.progress.remote.isIdentified else {
      guard expect.digests.isEmpty else { return nil }
      warnOfNoVersion()
      return .asked
    }
    let seen = try await source.probe()
    object = RemoteObject()
    if !seen.isIdentified { warnOfNoVersion() }
    guard seen.isIdentified else { return .asked }
    return book.progress.remote.isSameVersion(as: seen) ? nil : .sourceChanged
  }

  /// Once a run and server: a plan may have a million such files.
  private func warnOfNoVersion() {
    let origin = source.origin
    guard context.said.isFirst(origin) else { return }
    book.warn(
      "\(origin) tells no version of it (no ETag, no Last-Modified, no digest), so that it is fetched again in each run; so are others from there",
      hint: "give `expect` a digest, or write `refresh: never`")
  }

  func requireFolder() throws -> Folder {
    guard let folder else { throw Failure(.internal, "the destination's folder is not open") }
    return folder
  }

  /// Digests of the file at the destination.
  private func digests(of algorithms: Set<DigestAlgorithm>) async throws -> [DigestAlgorithm: String] {
    let file = try requireFolder().reading(name)
    let size = try file.facts().size
    let kinds = Set(algorithms.map(\.kind))
    let found = try await TrailingDigest(kinds, of: file, pool: context.pool).finish(size: size)
    return DigestAlgorithm.named(found)
  }
}

extension FileFacts {
  /// The same file, and nobody has written to it since.
  func isSame(as other: FileFacts?) -> Bool { inode == other?.inode && mtime == other?.mtime }
}

extension DigestAlgorithm {
  var kind: DigestKind {
    switch self {
    case .sha256: .sha256
    case .sha512: .sha512
    case .sha1: .sha1
    case .md5: .md5
    case .crc32: .crc32
    case .crc32c: .crc32c
    case .crc64nvme: .crc64nvme
    }
  }

  static func named(_ found: [DigestKind: String]) -> [DigestAlgorithm: String] {
    var named: [DigestAlgorithm: String] = [:]
    for algorithm in allCases { if let digest = found[algorithm.kind] { named[algorithm] = digest } }
    return named
  }
}
