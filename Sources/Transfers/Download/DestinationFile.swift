import Digests
import Endpoints
import JobLedger
import JobModel
import LocalFiles

/// The file that a download makes: its folder and name, what is there already, and where its part file lies.
struct DestinationFile {
  let folder: Folder
  let name: String
  private let record: TransferRecord
  /// Where an earlier run, whose run values were others, left its part file.
  private var former: PathParts?
  private let planned: String
  private var claim: DestinationClaims.Claim?

  /// Decides the name and opens the folder.
  ///
  /// - Parameter serverName: the name that the server gives the file, as sent.
  init(of record: TransferRecord, source: any RemoteSource, serverName: String?) throws {
    self.record = record
    let (transfer, context) = (record.transfer, record.context)
    let recorded = record.progress.resolvedDestination
    // Only the request that ties it to its record is left of this file.
    let isTied = record.progress.isAttaching && transfer.settings.then != nil
    let path: String
    if let known = isTied ? recorded ?? record.plannedPath : record.plannedPath {
      path = known
    } else {
      guard
        let given = serverName.flatMap(ContentDisposition.sanitised)
          ?? ContentDisposition.sanitised(source.name)
      else {
        throw Failure(.ioError, "\(source.place) gives no file name; write one in `to`")
      }
      path = (transfer.destination.localPath ?? "") + given
      record.note(.named(path))
    }
    planned = path
    former = recorded.flatMap { $0 == path ? nil : PathParts($0) }
    let parts = PathParts(path)
    name = parts.name
    guard !PartPattern.matches(name) else {
      throw Failure(.permissionDenied, PartPattern.refusal(name))
    }
    folder = try context.local.folder.making(
      parts.parent, beneath: !transfer.settings.allowsOutside, sparing: context.local.protectedFolders)
  }

  /// For messages.
  var path: String { "\(folder.path)/\(name)" }

  /// Claims the name, so that no other transfer writes the file meanwhile.
  ///
  /// - Throws: `DESTINATION_EXISTS` where another transfer writes it, or has written it.
  mutating func take() throws {
    // The owner of what stands there may have its turn at this moment: it is not to find its name claimed.
    if record.progress.completedAt == nil, let present = try folder.facts(name),
      let owner = try record.context.run.ledger.owner(of: present, besides: record.transfer.seq)
    {
      throw Failure.written(path, by: owner)
    }
    claim = try record.context.local.claims.take(name, in: folder, for: record.id)
    bringPart()
  }

  /// Takes the part file along from where it lies, on the same file system; what can't come along is removed.
  private mutating func bringPart() {
    guard let former else { return }
    let beneath = !record.transfer.settings.allowsOutside
    // One place may be written in two ways.
    if let old = record.context.local.folder.existing(former.parent, beneath: beneath),
      old.identity != folder.identity || former.name != name
    {
      let parts = LeftParts(record.transfer, record.context.run)
      parts.move(of: former.name, in: old, to: name, in: folder)
      parts.remove(of: former.name, in: old)
    }
    self.former = nil
    record.note(.named(planned))
    record.save()
  }

  func release() {
    if let claim { record.context.local.claims.release(claim) }
  }

  /// What has the name now; nil where nothing has.
  func present() throws -> FileFacts? {
    let present = try folder.facts(name)
    if present != nil, record.context.local.protected.contains(name, in: folder) {
      throw Failure(
        .destinationExists,
        "`\(path)` is the job's manifest, or a file that it has haul read or run: no download replaces it")
    }
    return present
  }

  /// Digests of the file that has the name.
  nonisolated(nonsending) func digests(
    of algorithms: some Sequence<DigestAlgorithm>
  ) async throws -> [DigestAlgorithm: String] {
    let file = try folder.reading(name)
    let size = try file.facts().size
    let digest = try IncrementalDigest(Set(algorithms.map(\.kind)), of: file, pool: record.context.local.pool)
    return DigestAlgorithm.named(try await digest.finish(size: size))
  }

  func makingPart() throws -> PartFile {
    try PartFile.making(in: folder, for: name, tag: record.context.run.partTag(record.transfer.seq))
  }

  /// The part file that an earlier attempt left with so many chunks; nil, and said so, where they are to be fetched again.
  func leftPart(chunks: Int) throws -> PartFile? {
    let lost: String
    switch try LeftParts(record.transfer, record.context.run).find(of: name, in: folder) {
    case .part(let part):
      // A version that kept no record left it, or it was copied with the job.
      record.noteMoved(part.record)
      return part
    case .nothing:
      try expectFileSystem()
      lost = "the part file is gone"
    case .another: lost = "another file was put in the part file's place"
    // What it has under the other name is not written over.
    case .linked: lost = "the part file has another name by now, as in a snapshot by hard links"
    case .locked: lost = "another runner works on the part file"
    }
    record.warn("\(lost): its \(chunks) recorded chunks are fetched again")
    return nil
  }

  /// Removes part files that earlier attempts left.
  func removeLeftParts() { LeftParts(record.transfer, record.context.run).remove(of: name, in: folder) }

  /// Records which file systems the job and the part file lie on, where they are two.
  ///
  /// - Returns: the part file's.
  @discardableResult
  func noteFileSystem() throws -> Folder.FileSystem {
    let (home, away) = (try record.context.local.folder.fileSystem(), try folder.fileSystem())
    if home.id != away.id {
      record.context.run.writer.submit(.fileSystems(seq: record.transfer.seq, home: home.id, away: away.id))
    }
    return away
  }

  /// Refuses to begin anew where what was there lies on a file system of its own that is not mounted now: its mount point
  /// is not an empty folder.
  func expectFileSystem() throws {
    guard let known = try record.context.run.ledger.fileSystems(of: record.transfer.seq) else { return }
    let (home, away) = (try record.context.local.folder.fileSystem().id, try folder.fileSystem().id)
    // A job that was copied elsewhere is on another file system itself: it goes on with what came along.
    guard home == known.home, away == home else { return }
    throw Failure(
      .ioError,
      "`\(folder.path)` was on a file system of its own, which is not mounted now; `haul retry --from-scratch` begins anew without it"
    )
  }
}
