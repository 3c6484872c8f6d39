import CPosix
import Digests
import Glibc
import JobLedger
package import JobModel
import LocalFiles

/// The file that an upload sends, its source or a private copy of it, and what it was when it was opened.
struct SourceFile: SendingFile {
  let file: OpenFile
  /// With the fingerprint.
  private(set) var facts: FileFacts
  /// What the source was when its copy was made: a later run compares the source with this.
  let original: FileFacts?

  init(_ file: OpenFile, original: FileFacts? = nil) throws {
    (self.file, self.original) = (file, original)
    var facts = try file.facts()
    facts.fingerprint = try Fingerprint(size: facts.size, read: file.bytes).description
    self.facts = facts
  }

  var place: String { "`\(file.path)`" }

  /// The source's permissions; nil of a copy, which has its own.
  var mode: UInt32? {
    var status = stat()
    guard original == nil, fstat(file.descriptor, &status) == 0 else { return nil }
    return UInt32(status.st_mode) & 0o777
  }

  /// What counts as the source when it is on record.
  var recorded: FileFacts { original ?? facts }

  /// Opens the source, or the copy of it that `snapshot` asks for; the copy of an unfinished upload is kept.
  nonisolated(nonsending) static func open(_ path: String, for record: TransferRecord) async throws
    -> SourceFile
  {
    let (progress, rule) = (record.progress, record.transfer.settings.snapshot)
    let copies = copies(of: record)
    let copy = copies.copy(of: record.id)
    // Also where the manifest asks for none by now.
    if progress.session != nil, let kept = try? OpenFile.reading(copy) { return try SourceFile(kept) }
    guard rule != .none else { return try SourceFile(.reading(path)) }
    if progress.session != nil, let recorded = progress.source {
      // Of an upload that began without `snapshot`: a copy would be another file than its session was opened of.
      let begun = try SourceFile(.reading(path))
      if recorded.inode == begun.facts.inode, recorded.isSameContent(as: begun.facts) { return begun }
    }
    let source = try OpenFile.reading(path)
    let original = try source.facts()
    if progress.completedAt != nil, let recorded = progress.source, original.size == recorded.size,
      original.mtime == recorded.mtime
    {
      // Nothing may have to be sent: no copy is made before that is known to be otherwise.
      return try SourceFile(source)
    }
    copies.make()
    try await record.context.local.pool.run { try Snapshot.make(source, rule, at: copy) }
    return try SourceFile(.reading(copy), original: original)
  }

  /// No newer source waits to be sent; one that is gone says nothing against what the server has.
  static func isAsSent(_ record: TransferRecord) -> Bool {
    guard let path = record.transfer.source.localPath, let sent = record.progress.source else { return true }
    // A record that another transfer has left says nothing of this source before their contents were compared.
    guard sent.inode != 0 else { return false }
    guard let now = try? OpenFile.reading(record.context.local.fullPath(path)).facts() else { return true }
    return sent.size == now.size && sent.mtime == now.mtime
  }

  private static func copies(of record: TransferRecord) -> SnapshotFolder {
    SnapshotFolder(record.context.local.stateFolder, job: record.context.run.job)
  }

  /// Removes the copy once it is on record that nothing will be sent from it again: without it, another attempt
  /// would take what the source is by then for a change.
  nonisolated(nonsending) static func dropCopy(of record: TransferRecord) async {
    let copies = copies(of: record)
    guard copies.hasCopy(of: record.id), (try? await record.context.run.writer.barrier()) != nil else {
      return
    }
    unlink(copies.copy(of: record.id))
  }

  /// Opens what is under the same name now.
  func reopened() throws -> SourceFile { try SourceFile(.reading(file.path), original: original) }

  /// The fingerprint over a prefix and the content.
  func fingerprint(prefix: String) throws -> String {
    try Fingerprint(size: facts.size, prefix: Array(prefix.utf8), read: file.bytes).description
  }

  func check() throws(Failure) { try check(mayBeTouched: false) }

  /// This file as it is now, where nothing of it differs but the time of its last change of any kind: by its mode or links, or
  /// by content whose own time was put back. Nil where that time is the same.
  func touched() throws(Failure) -> SourceFile? {
    try check(mayBeTouched: true)
    var touched = self
    touched.facts.ctime = try file.facts().ctime
    return touched.facts.ctime == facts.ctime ? nil : touched
  }

  /// - Throws: `SOURCE_CHANGED`, `SOURCE_MISSING` where the file is no longer what it was when it was opened.
  func check(mayBeTouched: Bool) throws(Failure) {
    let now = try file.facts()
    guard now.size == facts.size, now.mtime == facts.mtime else {
      throw Failure(.sourceChanged, "`\(file.path)` changed while it was sent")
    }
    // Most tools replace a file by renaming a new one over it: the open one would never show that.
    var status = stat()
    guard stat(file.path, &status) == 0 else {
      throw Failure(.sourceMissing, "`\(file.path)` was removed while it was sent")
    }
    guard FileFacts(status).inode == facts.inode else {
      throw Failure(.sourceChanged, "`\(file.path)` was replaced while it was sent")
    }
    // A writer may put the content's time back: that of the change is the kernel's own.
    guard now.ctime == facts.ctime || mayBeTouched else {
      throw Failure(.sourceChanged, "`\(file.path)`, or only its mode or links, changed while it was sent")
    }
  }
}

extension FileFacts {
  /// Whether a file is what it was: its times and inode, or else its fingerprint, say so.
  package func isSameContent(as other: FileFacts) -> Bool {
    guard size == other.size else { return false }
    if mtime == other.mtime, ctime == other.ctime, inode == other.inode { return true }
    return mtime == other.mtime && fingerprint != nil && fingerprint == other.fingerprint
  }

  /// Whether nothing but its times and inode speaks against it: a file that was touched, or put back.
  package func mayBeSameContent(as other: FileFacts) -> Bool {
    size == other.size && fingerprint != nil && fingerprint == other.fingerprint
  }
}
