import Glibc

extension UploadSession {
  /// Makes a new session that holds this one's chunks, and ends this one. Nil where they are not for the same file.
  ///
  /// The new folder is whole before the old one changes, so a kill in between leaves the old session as it was and
  /// an orphan that expires.
  func handOver(to record: SessionRecord, folder: String, pool: BlockingPool) throws -> UploadSession? {
    let chunks = state.withLock { state -> [Int: [UInt8]]? in
      let old = state.record
      guard !state.isGone, old.replacedBy == nil, old.finishedSha256 == nil, state.finishing == nil,
        old.fileName == record.fileName, old.fileSize == record.fileSize, old.chunkSize == record.chunkSize
      else { return nil }
      state.record.replacedBy = record.id
      // Nothing may write into the file that the new session is about to own.
      for lease in state.leases.values { lease.end(Self.over) }
      state.leases = [:]
      return state.chunks
    }
    guard let chunks else { return nil }
    do {
      guard mkdir(folder, 0o700) == 0 else { throw SystemError("create \(folder)") }
      guard link(dataFile, folder + "/data") == 0 else { throw SystemError("link \(dataFile)") }
      try ChunkJournal(path: folder + "/journal").create(chunks)
      try record.save(in: folder)
      try self.record.save(in: self.folder)
    } catch {
      state.withLock { $0.record.replacedBy = nil }
      Disk.removeFolder(folder)
      throw error
    }
    unlink(dataFile)
    unlink(journal.path)
    state.withLock { $0.chunks = [:] }
    return UploadSession(record: record, chunks: chunks, folder: folder, pool: pool)
  }
}
