import JobLedger
import JobModel
import LocalFiles

/// Gives a verified file its destination's name: the intent is recorded first, then the file is renamed.
struct Promotion {
  let record: TransferRecord
  let destination: DestinationFile
  let staged: StagedFile
  /// The job's own file at the destination, which it may replace.
  let own: FileFacts?
  /// The file's time, in nanoseconds since 1970; nil for now.
  let time: Int64?
  /// Permission bits; nil as the umask has them.
  let mode: UInt16?

  /// - Returns: facts of the finished file.
  nonisolated(nonsending) func run() async throws -> FileFacts {
    let (transfer, home) = (record.transfer, record.context.local.folder)
    let (folder, name, settings) = (destination.folder, destination.name, transfer.settings)
    var making: (@Sendable () throws -> LedgerChange)?
    if let part = staged.part {
      try part.setTime(time)
      record.note(.intended(part.record.inode))
      record.save()
    } else if let held = staged.held {
      let (tag, free, time) = (record.context.run.partTag(transfer.seq), settings.policy.minFree, time)
      let intent = record.intent()
      making = { intent(try held.make(in: folder, for: name, tag: tag, leaving: free, time: time)) }
    }
    let (opened, held, own) = (staged.part, staged.held, own)
    let (mode, path) = (FileMode(self.mode, settings), "\(folder.path)/\(name)")
    let ownerElsewhere = record.ownerElsewhere
    let (promoted, refused) = try await record.context.run.writer.barrier(
      keepingStarts: true, making: making
    ) { () throws -> (FileFacts, Failure?) in
      guard let part = opened ?? held?.made?.part else { throw Failure(.internal, "no part file was made") }
      try mode.expectTaken(by: part, at: path)
      func rename() throws {
        // The name may have become a folder or a link meanwhile, and the folder may have been moved or unmounted.
        let present = try folder.facts(name)
        try home.expect(folder, beneath: !settings.allowsOutside)
        try part.expectInPlace()
        let isOwn = present != nil && present?.isSame(as: own) == true
        if let present, !isOwn, let owner = ownerElsewhere?(present) {
          throw Failure.written(path, by: owner)
        }
        // Claims are one process's: what another part puts there right now is not replaced.
        let isFree = present == nil && ownerElsewhere != nil
        let mayReplace = settings.ifExists == .replace && !isFree || isOwn
        try folder.rename(part.name, to: name, keepingOld: !mayReplace)
      }
      // Nor is what it puts there between our look and our rename.
      if ownerElsewhere == nil { try rename() } else { try folder.alone(rename) }
      // Behind the rename: until then nobody else reads the file, and its owner can open it again.
      let refused = try mode.give(to: part.file, at: path)
      guard let facts = try folder.facts(name), facts.inode == part.record.inode else {
        throw Failure(
          .ioError, "`\(path)` was replaced by somebody else as soon as it was put in its place")
      }
      return (facts, refused)
    }
    record.noteRecorded()
    if let refused { record.note(withoutMode: refused) }
    return promoted
  }
}
