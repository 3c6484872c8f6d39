import Glibc
import Synchronization

/// All sessions, as they lie under `.depot/sessions`.
final class SessionStore: Sendable {
  private let sessions = Mutex<[String: UploadSession]>([:])
  private let folder: String
  private let pool: BlockingPool

  /// Reads back what an earlier depot left, however it ended, and removes what is over.
  init(folder: String, pool: BlockingPool) {
    self.folder = folder
    self.pool = pool
    for id in Disk.list(folder) {
      let path = folder + "/" + id
      guard let record = SessionRecord.load(from: path), record.id == id, !record.isExpired else {
        Disk.removeFolder(path)
        continue
      }
      let chunks = ChunkJournal(path: path + "/journal").load().filter {
        (0..<record.chunkCount).contains($0.key)
      }
      let session = UploadSession(record: record, chunks: chunks, folder: path, pool: pool)
      sessions.withLock { $0[id] = session }
    }
  }

  /// The live session of this id.
  func find(_ id: String) throws -> UploadSession {
    guard let session = sessions.withLock({ $0[id] }) else {
      throw Problem(404, "SESSION_EXPIRED", "there is no session of this id; create a new one")
    }
    try session.requireLive()
    return session
  }

  /// A new session; with `resumeFrom`, one that holds what the named one held, if that was for the same file.
  func create(_ record: SessionRecord, resumeFrom: String?) throws -> UploadSession {
    let old = resumeFrom.flatMap { heir(of: $0) }
    removeExpired(except: old?.id)
    let path = folder + "/" + record.id
    let session: UploadSession
    if let old, let taken = try old.handOver(to: record, folder: path, pool: pool) {
      session = taken
    } else {
      session = try UploadSession.create(record, folder: path, pool: pool)
    }
    sessions.withLock { $0[record.id] = session }
    return session
  }

  func remove(_ id: String) {
    sessions.withLock { $0.removeValue(forKey: id) }?.remove()
  }

  /// Follows renewals to the session that holds the data now, as an answer to one may have been lost.
  private func heir(of id: String) -> UploadSession? {
    sessions.withLock { sessions in
      var session = sessions[id]
      while let next = session?.record.replacedBy { session = sessions[next] }
      return session
    }
  }

  private func removeExpired(except kept: String?) {
    let expired = sessions.withLock { sessions in
      let expired = sessions.values.filter { $0.id != kept && $0.record.isExpired }
      for session in expired { sessions[session.id] = nil }
      return expired
    }
    for session in expired { session.remove() }
  }
}
