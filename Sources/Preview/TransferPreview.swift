package import Endpoints
package import JobLedger
package import JobModel
package import LocalFiles

/// What a run would do with a transfer, told without moving or changing anything.
package struct TransferPreview: Sendable, Hashable {
  package typealias Action = PlannedAction
  package var action: Action
  package var reason: String?
  /// Bytes; nil while nobody knows.
  package var size: Int64?
  package var chunkSize: Int64?
  package var chunks: Int?
  package var isResumable: Bool?
  package var isParallel: Bool?
  package var verifiedBy: [String] = []

  /// - Parameters:
  ///   - word: what servers said when they were asked (`--probe`).
  ///   - rates: what hosts were last measured at.
  ///   - isNewRun: the next `haul run` starts a new run rather than going on with one.
  ///   - disabledNeed: the id of a disabled transfer that it needs.
  ///   - wrote: whether a download that left the manifest put a file at a path.
  package static func of(
    _ transfer: LedgerTransfer, folder: Folder, endpoints: [String: Endpoint],
    word: ServerWord = ServerWord(),
    rates: [HostRate: Double] = [:], isNewRun: Bool, disabledNeed: String? = nil,
    wrote: (FileFacts, String) -> Bool = { _, _ in false }
  ) -> TransferPreview {
    let remote = word.source
    let isUpload = transfer.settings.direction == .upload
    let source = isUpload ? facts(transfer.source, folder) : nil
    let size =
      source?.size ?? remote?.size ?? word.listedSize ?? transfer.progress.size ?? transfer.knownSize
      ?? transfer.expect.size
    var preview = TransferPreview(action: .transfer, size: size)
    var known = Set(transfer.expect.digests.keys.map(\.rawValue))
    var abilities: UploadAbilities?
    if transfer.settings.direction.writesRemote {
      let upload = try? RemotePlace(transfer.destination, endpoints: endpoints).upload().traits
      abilities = upload?.abilities(of: size)
      (preview.isResumable, preview.isParallel) = (abilities?.resumes, abilities?.isParallel)
      known.formUnion(abilities?.fileDigests.map(\.rawValue) ?? [])
    } else {
      let download = try? RemotePlace(transfer.source, endpoints: endpoints).download().traits
      let promised = download?.promisedDigests ?? []
      let ranges =
        remote?.servesRanges ?? transfer.progress.remote.servesRanges
        ?? (download?.promisesRanges == true ? true : nil)
      (preview.isResumable, preview.isParallel) = (ranges, ranges)
      known.formUnion((remote ?? transfer.progress.remote).digests.keys.map(\.rawValue))
      known.formUnion(promised.map(\.rawValue))
    }
    preview.verifiedBy = known.sorted() + (size == nil && transfer.expect.size == nil ? [] : ["size"])
    let isWhole = abilities != nil && preview.isResumable == false
    let isBegun = transfer.hasChunks || transfer.progress.session != nil
    let origin = (try? RemotePlace(transfer.remote, endpoints: endpoints))?.url.origin
    let configured = transfer.settings.chunkSize.bytes(
      of: size, chosen: isBegun ? transfer.progress.automaticChunk : nil,
      rate: origin.flatMap { rates[HostRate(origin: $0, direction: transfer.settings.direction.wire)] },
      least: abilities?.minimumChunk ?? 1, most: abilities?.maximumChunks)
    let isOpen = size == nil && transfer.settings.chunkSize == .auto
    var chunk = isWhole ? size : transfer.progress.chunkSize ?? (isOpen ? nil : configured)
    if let size, let wanted = chunk, let abilities { chunk = abilities.chunkSize(wanted: wanted, of: size) }
    preview.chunkSize = chunk
    preview.chunks = size.flatMap { size in
      chunk.map { max(isWhole ? 1 : 0, ChunkLayout(size: size, chunkSize: $0).count) }
    }
    (preview.action, preview.reason) = next(
      transfer, source: source, folder: folder, word: word, isNewRun: isNewRun, disabledNeed: disabledNeed,
      wrote: wrote)
    return preview
  }

  /// What a run would do, and why, where there is more to say.
  private typealias Next = (action: Action, reason: String?)

  private static func next(
    _ transfer: LedgerTransfer, source: FileFacts?, folder: Folder, word: ServerWord, isNewRun: Bool,
    disabledNeed: String?, wrote: (FileFacts, String) -> Bool
  ) -> Next {
    let (progress, settings) = (transfer.progress, transfer.settings)
    // By the manifest: the state on record is that of the last run.
    guard settings.isEnabled else { return (.skip, "disabled") }
    switch transfer.state {
    case .paused(.user): return (.skip, "user")
    case .canceled where !isNewRun: return (.skip, "canceled")
    case .skipped(.exists) where !isNewRun: return (.skip, transfer.state.reason)
    case .completed where !isNewRun, .upToDate where !isNewRun: return (.upToDate, nil)
    case .queued, .running, .paused, .completed, .upToDate, .failed, .canceled, .skipped: break
    }
    if let need = disabledNeed { return (.skip, TransferState.skipped(.needs(need)).reason) }
    if progress.isAttaching, settings.then != nil, isAsProved(transfer, source, folder) {
      return (.attach, nil)
    }
    // What the manifest demands is there, whatever the source holds by now.
    let isPinned =
      settings.direction.readsRemote && transfer.expect.digests.keys.contains(where: \.isCryptographic)
    if progress.completedAt != nil, settings.refresh != .always, !progress.contradicts(transfer.expect),
      stands(transfer, source, folder),
      settings.refresh == .never || isPinned || word.isSource(of: progress)
    {
      return ofStanding(transfer, word, isPinned: isPinned)
    }
    if progress.completedAt != nil, settings.ifExists == .replace {
      return moved(change(transfer, source, folder), word)
    }
    if settings.ifExists != .replace, isTaken(transfer, folder, wrote) {
      // One that matches a digest is adopted: that shows when it is read.
      let isOpen = !transfer.expect.digests.isEmpty || !(word.source ?? RemoteObject()).digests.isEmpty
      let isKept = settings.ifExists == .keep
      return (
        isKept && !isOpen ? .skip : .unknown,
        isOpen || isKept ? "exists" : ErrorCode.destinationExists.rawValue
      )
    }
    let missing: String? = settings.direction == .upload && source == nil ? "the source is missing" : nil
    if progress.completedAt == nil,
      transfer.hasChunks || progress.chunksCompleted > 0 || progress.session != nil
    {
      return (.resume, missing ?? word.trouble?.rawValue)
    }
    return moved(missing, word)
  }

  /// A completed transfer whose local side is as recorded, and whose source is not known to be another.
  private static func ofStanding(_ transfer: LedgerTransfer, _ word: ServerWord, isPinned: Bool) -> Next {
    let (progress, settings) = (transfer.progress, transfer.settings)
    if settings.refresh != .never, let change = word.changeOfDestination(since: progress) {
      return (.transfer, change)
    }
    let isNever = settings.refresh == .never || isPinned
    // A pinned download asks nobody; the destination of an upload, or a copy, is asked for all the same.
    let asksNobody = isNever && !(isPinned && settings.direction.writesRemote)
    if !asksNobody, let doubt = word.trouble?.rawValue ?? lastFailure(transfer, word) {
      return (.unknown, doubt)
    }
    if settings.refresh != .never, !isProved(transfer) {
      return (.unknown, "nothing on record proves it as `verify` demands")
    }
    if !isNever, settings.direction == .download, progress.remote == RemoteObject(), word.source == nil,
      transfer.expect.digests.isEmpty
    {
      return (.unknown, "its source was never asked")
    }
    guard isNever || isToldApart(transfer, word.source) else {
      return (.transfer, "the server tells no version of it: it is fetched again")
    }
    if transfer.owesAttach { return (.attach, "`then` is not made yet") }
    let isAsked = asksNobody || word.tells(settings.direction)
    return (.upToDate, isAsked ? nil : "as recorded; the server was not asked")
  }

  /// Its record has what `verify` demands by now, or the manifest names its bytes.
  private static func isProved(_ transfer: LedgerTransfer) -> Bool {
    transfer.settings.verify == .required && !transfer.expect.digests.isEmpty
      || transfer.settings.isProved(by: transfer.progress.verification)
  }

  /// What could not be told when it was asked for says more than what is on record.
  private static func moved(_ reason: String?, _ word: ServerWord) -> Next {
    if let trouble = word.trouble { return (.unknown, trouble.rawValue) }
    return (.transfer, reason)
  }

  /// Why the last attempt of a completed transfer to see what has changed came to nothing; nil where it did not, or where it has
  /// been told since.
  private static func lastFailure(_ transfer: LedgerTransfer, _ word: ServerWord) -> String? {
    guard !word.tells(transfer.settings.direction) else { return nil }
    switch transfer.state {
    case .failed, .paused: return transfer.progress.failure?.code.rawValue ?? transfer.state.reason
    case .queued, .running, .completed, .upToDate, .canceled, .skipped: return nil
    }
  }

  /// Only its attach request is left: the file is as it was. An upload's source that is gone says nothing against what the
  /// server has, unless the record is another transfer's.
  private static func isAsProved(
    _ transfer: LedgerTransfer, _ source: FileFacts?, _ folder: Folder
  ) -> Bool {
    switch transfer.settings.direction {
    case .download: stands(transfer, nil, folder)
    case .upload:
      transfer.progress.source?.inode != 0 && (source == nil || stands(transfer, source, folder))
    // What the source has come to is not asked.
    case .copy: true
    }
  }

  /// Why what was completed is to be moved again.
  private static func change(_ transfer: LedgerTransfer, _ source: FileFacts?, _ folder: Folder) -> String {
    if transfer.settings.refresh == .always { return "refresh: always" }
    if transfer.progress.contradicts(transfer.expect) { return "`expect` says something else" }
    guard !stands(transfer, source, folder) else { return "the source has changed" }
    switch transfer.settings.direction {
    case .upload: return source == nil ? "the source is missing" : "the source has changed"
    case .copy: return "the source has changed"
    case .download:
      let path = transfer.plannedPath ?? transfer.destination.text
      let isThere = facts(.local(path), folder) != nil
      return isThere ? "the destination is not as it was left" : "the destination is missing"
    }
  }

  /// Whether a run could tell that the source of a completed download, or copy, is still the same.
  private static func isToldApart(_ transfer: LedgerTransfer, _ remote: RemoteObject?) -> Bool {
    guard transfer.settings.direction.readsRemote else { return true }
    guard transfer.progress.asked.isIdentified else {
      return !transfer.expect.digests.isEmpty || remote.map { transfer.progress.hasBytes(of: $0) } ?? false
    }
    return remote?.isIdentified ?? true
  }

  /// A file that this job did not write has the download's name.
  private static func isTaken(
    _ transfer: LedgerTransfer, _ folder: Folder, _ wrote: (FileFacts, String) -> Bool
  ) -> Bool {
    let (progress, own) = (transfer.progress, transfer.progress.destination)
    let path = transfer.plannedPath ?? transfer.destination.text
    guard transfer.settings.direction == .download,
      !transfer.takesSourceName || progress.resolvedDestination != nil,
      let now = facts(.local(path), folder)
    else { return false }
    if progress.completedAt == nil, progress.intendedInode == now.inode { return false }
    // What was canceled, or begun anew, is still its own until it is replaced.
    return (now.inode != own?.inode || now.mtime != own?.mtime) && !wrote(now, path)
  }

  /// The local side is as it was recorded.
  private static func stands(_ transfer: LedgerTransfer, _ source: FileFacts?, _ folder: Folder) -> Bool {
    let recorded: FileFacts?
    let now: FileFacts?
    switch transfer.settings.direction {
    case .upload: (recorded, now) = (transfer.progress.source, source)
    // What lies at either end, nobody has asked.
    case .copy: return transfer.progress.completedAt != nil
    case .download:
      recorded = transfer.progress.destination
      now = facts(.local(transfer.plannedPath ?? transfer.destination.text), folder)
    }
    // `never` asks for the file, whatever is in it.
    if transfer.settings.refresh == .never { return now != nil }
    guard let recorded, let now else { return false }
    return recorded.size == now.size && recorded.mtime == now.mtime
  }

  private static func facts(_ place: Place, _ folder: Folder) -> FileFacts? {
    guard let path = place.localPath else { return nil }
    return try? OpenFile.reading(RelativePath.absolute(path, in: folder.path)).facts()
  }
}

extension TransferProgress {
  /// The object at the remote source, as it is on record.
  fileprivate var asked: RemoteObject { sourceObject ?? remote }
}
