import Glibc

/// All sessions, as they lie under `.depot/sessions`.
final class SessionStore: Sendable {
  private struct Table {
    var sessions: [String: UploadSession] = [:]
    /// Ids by the key that a session was created under.
    var keys: [String: String] = [:]

    mutating func add(_ session: UploadSession) {
      sessions[session.id] = session
      guard let key = session.record.key else { return }
      // They are read back in any order: one that is over hides none that goes on.
      if let old = keys[key].flatMap({ sessions[$0] }), Self.goesOn(old), !Self.goesOn(session) { return }
      keys[key] = session.id
    }

    private static func goesOn(_ session: UploadSession) -> Bool {
      session.record.finishedSha256 == nil && (try? session.requireLive()) != nil
    }

    mutating func remove(_ id: String) -> UploadSession? {
      guard let session = sessions.removeValue(forKey: id) else { return nil }
      if let key = session.record.key, keys[key] == id { keys[key] = nil }
      return session
    }

    /// The live session that the same request created before.
    func known(_ record: SessionRecord) -> UploadSession? {
      guard let key = record.key, let id = keys[key], let session = sessions[id] else { return nil }
      let old = session.record
      guard old.fileName == record.fileName, old.fileSize == record.fileSize,
        old.chunkSize == record.chunkSize,
        // Its finalize checks its own promise.
        record.fileHashSha256 == nil || old.fileHashSha256 == record.fileHashSha256,
        Self.goesOn(session)
      else { return nil }
      return session
    }
  }
  private let table = Locked(Table())
  /// Held while a session takes over from another one.
  private let renewing = Locked(())
  private let folder: String
  private let pool: BlockingPool

  /// Reads back what an earlier depot left, however it ended. What is over is left to the sweep.
  init(folder: String, pool: BlockingPool) {
    self.folder = folder
    self.pool = pool
    for id in Disk.list(folder) {
      let path = folder + "/" + id
      guard let record = SessionRecord.load(from: path), record.id == id else {
        Disk.removeFolder(path)
        continue
      }
      let chunks = ChunkJournal(path: path + "/journal").load().filter {
        (0..<record.chunkCount).contains($0.key)
      }
      let session = UploadSession(record: record, chunks: chunks, folder: path, pool: pool)
      table.withLock { $0.add(session) }
    }
  }

  /// The live session of this id.
  func find(_ id: String) throws -> UploadSession {
    guard let session = table.withLock({ $0.sessions[id] }) else {
      throw Problem(404, "SESSION_EXPIRED", "there is no session of this id; create a new one")
    }
    try session.requireLive()
    return session
  }

  /// A new session; with `resumeFrom`, one that holds what the named one held, if that was for the same file. A
  /// request that is repeated under its key finds the session that it created the first time.
  func create(_ record: SessionRecord, resumeFrom: String?) throws -> (UploadSession, isNew: Bool) {
    guard let resumeFrom else { return try make(record, from: nil) }
    // The same request may come again meanwhile: until the table has the successor, nobody would find the chunks.
    return try renewing.withLock { _ in try make(record, from: successor(of: resumeFrom)) }
  }

  private func make(
    _ record: SessionRecord, from old: UploadSession?
  ) throws -> (UploadSession, isNew: Bool) {
    if let known = table.withLock({ $0.known(record) }) { return (known, false) }
    let path = folder + "/" + record.id
    let session: UploadSession
    if let old, let taken = try old.handOver(to: record, folder: path, pool: pool) {
      session = taken
    } else {
      session = try UploadSession.create(record, folder: path, pool: pool)
    }
    // The first try may still have been at work.
    let first = table.withLock { table in
      let first = table.known(record)
      if first == nil { table.add(session) }
      return first
    }
    guard let first else { return (session, true) }
    session.remove()
    return (first, false)
  }

  func remove(_ id: String) {
    table.withLock { $0.remove(id) }?.remove()
  }

  /// Follows renewals to the session that holds the data now, as an answer to one may have been lost.
  private func successor(of id: String) -> UploadSession? {
    table.withLock { table in
      var session = table.sessions[id]
      while let next = session?.record.replacedBy { session = table.sessions[next] }
      return session
    }
  }

  /// Removes what has been over for a while: until then a new session may still take over its chunks.
  func sweep(grace: Int) {
    let over = table.withLock { table in
      table.sessions.values.filter { $0.record.expiresAt + grace <= HTTPDate.now }
    }
    // One that is being finished is to become a file.
    for session in over where !session.isFinishing { table.withLock { $0.remove(session.id) }?.remove() }
  }
}
