import JobModel
import SQLite

/// `TransferProgress` as a row of `progress`.
enum ProgressRow {
  /// What is long to write and seldom changes once it is known.
  private static let facts = [
    "remote", "session", "resolved_destination", "source_facts", "digests", "verification", "failure",
    "source_object", "attributes", "attach",
  ]
  /// What changes with each step, in the order of `addState`.
  private static let state = [
    "size", "chunk_size", "session_state", "remote_id", "destination_facts", "chunks_total",
    "chunks_completed",
    "chunks_reused", "contiguous_bytes", "transferred", "reused", "discarded", "requests", "retries",
    "attempts",
    "max_chunk_attempts", "last_http_status", "started_at", "ended_at", "updated_at", "duration", "failed_at",
    "fresh_starts", "intended_inode", "completed_at", "synced", "boot_id", "moved_because", "automatic_chunk",
    "copied_by",
  ]
  /// Writes all columns.
  static let upsert = {
    let all = state + facts
    return """
      INSERT INTO progress (\(all.joined(separator: ", ")), transfer) VALUES (\(all.map { _ in "?, " }.joined())?)
      ON CONFLICT (transfer) DO UPDATE SET \(all.map { "\($0) = excluded.\($0)" }.joined(separator: ", "))
      """
  }()
  /// Writes the columns of `state` alone.
  static let update =
    "UPDATE progress SET \(state.map { "\($0) = ?" }.joined(separator: ", ")) WHERE transfer = ?"

  static func write(_ seq: Int64, _ p: TransferProgress, _ db: Database) throws {
    try write(seq, p, try db.cachedStatement(sql: upsert))
  }

  /// - Parameter statement: `upsert`'s.
  static func write(_ seq: Int64, _ p: TransferProgress, _ statement: Statement) throws {
    try statement.run { row in
      addState(p, to: &row)
      row.add(p.remote == RemoteObject() ? nil : remote(p.remote).text)
      row.add(p.session.map { session($0).text })
      row.add(p.resolvedDestination)
      row.add(p.source.map { facts($0).text })
      row.add(p.digests.isEmpty ? nil : JSON.object(ExpectationRow.digests(p.digests)).text)
      row.add(p.verification.isEmpty ? nil : verification(p.verification).text)
      row.add(p.failure.map { failure($0).text })
      row.add(p.sourceObject.map { remote($0).text })
      row.add(AttributesText.write(p.attributes))
      row.add(p.attach.map { AttachJSON.write($0).text })
      row.add(seq)
    }
  }

  /// - Parameter statement: `update`'s.
  static func writeState(_ seq: Int64, _ p: TransferProgress, _ statement: Statement) throws {
    try statement.run { row in
      addState(p, to: &row)
      row.add(seq)
    }
  }

  private static func addState(_ p: TransferProgress, to row: inout Binding) {
    row.add(p.size)
    row.add(p.chunkSize)
    row.add(p.sessionState.rawValue)
    row.add(p.remoteID)
    row.add(p.destination.map { facts($0).text })
    row.add(p.chunksTotal)
    row.add(p.chunksCompleted)
    row.add(p.chunksReused)
    row.add(p.contiguousBytes)
    row.add(p.transferred)
    row.add(p.reused)
    row.add(p.discarded)
    row.add(p.requests)
    row.add(p.retries)
    row.add(p.attempts)
    row.add(p.maxChunkAttempts)
    row.add(p.lastHTTPStatus)
    row.add(p.startedAt)
    row.add(p.endedAt)
    row.add(p.updatedAt)
    row.add(p.duration)
    row.add(p.failedAt)
    row.add(p.freshStarts)
    row.add(p.intendedInode.map { Int64(bitPattern: $0) })
    row.add(p.completedAt)
    row.add(p.isSynced)
    row.add(p.bootID)
    row.add(p.movedBecause?.rawValue)
    row.add(p.automaticChunk)
    row.add(p.copiedBy?.rawValue)
  }

  /// The completion stays on record, so that the file is known as the job's own, but no boot vouches for it.
  static func writeLost(_ one: UnsyncedCompletion, _ failure: Failure, at now: Double, _ db: Database) throws
  {
    try db.run(
      """
      UPDATE progress SET synced = 0, boot_id = ?, failure = ?, failed_at = ?
      WHERE transfer = ? AND completed_at = ?
      """
    ) { row in
      row.add(TransferProgress.noBoot)
      row.add(Self.failure(failure).text)
      row.add(now)
      row.add(one.seq)
      row.add(one.completedAt)
    }
  }

  /// Reads the table's columns from number `first` on, but `attributes`; everything at its default where the transfer has no progress
  /// yet.
  static func read(_ row: Row, from first: Int = 0, _ texts: inout RepeatedTexts) -> TransferProgress {
    var p = TransferProgress()
    guard (row[first] as Int64?) != nil else { return p }
    p.size = row[first + 1]
    p.chunkSize = row[first + 2]
    if let text = row[first + 3] as String? { p.remote = readRemote(JSONText(text)) }
    if let text = row[first + 4] as String? { p.session = readSession(JSONText(text)) }
    p.sessionState = SessionState(rawValue: row[first + 5]) ?? .none
    p.remoteID = row[first + 6]
    p.resolvedDestination = row[first + 7]
    if texts.hasFacts {
      if let text = row[first + 8] as String? { p.source = readFacts(JSONText(text)) }
      if let text = row[first + 9] as String? { p.destination = readFacts(JSONText(text)) }
    }
    if let text = row[first + 10] as String? { p.digests = ExpectationRow.readDigests(text) }
    if let text = row[first + 11] as String? {
      p.verification = texts.verification(text) { readVerification(JSONText($0)) }
    }
    p.chunksTotal = row[first + 12]
    p.chunksCompleted = row[first + 13]
    p.chunksReused = row[first + 14]
    p.contiguousBytes = row[first + 15]
    p.transferred = row[first + 16]
    p.reused = row[first + 17]
    p.discarded = row[first + 18]
    p.requests = row[first + 19]
    p.retries = row[first + 20]
    p.attempts = row[first + 21]
    p.maxChunkAttempts = row[first + 22]
    p.lastHTTPStatus = row[first + 23]
    p.startedAt = row[first + 24]
    p.endedAt = row[first + 25]
    p.updatedAt = row[first + 26]
    p.duration = row[first + 27]
    if let text = row[first + 28] as String? { p.failure = readFailure(JSONText(text)) }
    p.failedAt = row[first + 29]
    p.freshStarts = row[first + 30]
    p.intendedInode = (row[first + 31] as Int64?).map { UInt64(bitPattern: $0) }
    p.completedAt = row[first + 32]
    p.isSynced = row[first + 33]
    p.bootID = row[first + 34]
    p.movedBecause = (row[first + 35] as String?).flatMap(MovedBecause.init(rawValue:))
    p.automaticChunk = row[first + 36]
    if let text = row[first + 37] as String? { p.sourceObject = readRemote(JSONText(text)) }
    p.copiedBy = (row[first + 38] as String?).flatMap(CopiedBy.init(rawValue:))
    if let text = row[first + 39] as String? { p.attach = AttachJSON.readRecord(JSONText(text)) }
    return p
  }

  private static func remote(_ object: RemoteObject) -> JSON {
    var members: [JSON.Member] = []
    func add(_ name: String, _ value: String?) {
      if let value { members.append(.init(name, .string(value))) }
    }
    if let size = object.size { members.append(.init("size", .integer(size))) }
    add("etag", object.etag)
    add("last_modified", object.lastModified)
    if object.lastModifiedIsStrong { members.append(.init("last_modified_is_strong", .bool(true))) }
    add("content_type", object.contentType)
    add("content_encoding", object.contentEncoding)
    add("version", object.version)
    add("file_name", object.fileName)
    if !object.digests.isEmpty {
      members.append(.init("digests", .object(ExpectationRow.digests(object.digests))))
    }
    if !object.facts.isEmpty { members.append(.init("facts", .dictionary(object.facts))) }
    if let ranges = object.servesRanges { members.append(.init("serves_ranges", .bool(ranges))) }
    // Of its attributes what a download that is gone on with is to set; all others are told anew.
    if let time = object.attributes.mtime { members.append(.init("mtime", .integer(time))) }
    if let mode = object.attributes.mode { members.append(.init("mode", .integer(Int64(mode)))) }
    return .object(members)
  }

  private static func readRemote(_ json: JSONText) -> RemoteObject {
    var object = RemoteObject()
    object.size = json.int64("size")
    object.etag = json.string("etag")
    object.lastModified = json.string("last_modified")
    object.lastModifiedIsStrong = json.bool("last_modified_is_strong") ?? false
    object.contentType = json.string("content_type")
    object.contentEncoding = json.string("content_encoding")
    object.version = json.string("version")
    object.fileName = json.string("file_name")
    object.digests = json.object("digests").map(ExpectationRow.readDigests) ?? [:]
    object.facts = json.dictionary("facts") ?? [:]
    object.servesRanges = json.bool("serves_ranges")
    object.attributes.mtime = json.int64("mtime")
    object.attributes.mode = json.int64("mode").flatMap { UInt16(exactly: $0) }
    return object
  }

  private static func session(_ session: RemoteSession) -> JSON {
    [
      "id": .string(session.id), "chunk_size": .integer(session.chunkSize),
      "expires_at": .double(session.expiresAt), "headers": .dictionary(session.requiredHeaders),
      "facts": .dictionary(session.facts),
    ]
  }

  private static func readSession(_ json: JSONText) -> RemoteSession? {
    guard let id = json.string("id"), let size = json.int64("chunk_size") else { return nil }
    return RemoteSession(
      id: id, chunkSize: size, expiresAt: json.double("expires_at"),
      requiredHeaders: json.dictionary("headers") ?? [:], facts: json.dictionary("facts") ?? [:])
  }

  private static func facts(_ facts: FileFacts) -> JSON {
    [
      "size": .integer(facts.size), "mtime": .integer(facts.mtime), "ctime": .integer(facts.ctime),
      "inode": .string(String(facts.inode)), "fingerprint": .text(facts.fingerprint),
    ]
  }

  private static func readFacts(_ json: JSONText) -> FileFacts? {
    guard let size = json.int64("size"), let mtime = json.int64("mtime"), let ctime = json.int64("ctime"),
      let inode = json.string("inode").flatMap({ UInt64($0) })
    else { return nil }
    return FileFacts(
      size: size, mtime: mtime, ctime: ctime, inode: inode, fingerprint: json.string("fingerprint"))
  }

  private static func verification(_ checks: [Verification]) -> JSON {
    [
      "checks": .array(
        checks.map {
          [
            "check": .string($0.check), "against": .string($0.against.rawValue),
            "result": .string($0.result.rawValue),
          ]
        })
    ]
  }

  static func readVerification(_ json: JSONText) -> [Verification] {
    (json.objects("checks") ?? []).compactMap { item in
      guard let check = item.string("check"),
        let against = item.string("against").flatMap(Verification.Against.init(rawValue:)),
        let result = item.string("result").flatMap(Verification.Result.init(rawValue:))
      else { return nil }
      return Verification(check, against, result)
    }
  }

  static func failure(_ failure: Failure) -> JSON {
    [
      "code": .string(failure.code.rawValue), "message": .string(failure.message),
      "http_status": .int(failure.httpStatus), "chunk": .int(failure.chunk),
      "expected": .text(failure.expected), "actual": .text(failure.actual),
    ]
  }

  static func readFailure(_ json: JSONText) -> Failure? {
    guard let code = json.string("code").flatMap(ErrorCode.init(rawValue:)) else { return nil }
    return Failure(
      code, json.string("message") ?? "", httpStatus: json.int("http_status"), chunk: json.int("chunk"),
      expected: json.string("expected"), actual: json.string("actual"))
  }
}
