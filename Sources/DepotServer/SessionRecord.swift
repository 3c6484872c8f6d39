import FoundationEssentials

/// What a session was created with and how it ended: `session.json`, replaced whole at each change.
struct SessionRecord: Codable, Sendable {
  var id: String
  /// The id that the finished upload will have; chosen at creation so that a repeated finalize can't make two.
  var remoteFileId: String
  var fileName: String
  var fileSize: Int
  var mimeType: String
  var chunkSize: Int
  /// What the client promised, in lower-case hexadecimal.
  var fileHashSha256: String?
  /// Seconds since 1970.
  var expiresAt: Int
  /// The digest of the finished upload, once it is published.
  var finishedSha256: String?
  /// The `Idempotency-Key` that it was created under.
  var key: String?
  /// The session that took over what this one held.
  var replacedBy: String?

  var chunkCount: Int { fileSize == 0 ? 0 : (fileSize - 1) / chunkSize + 1 }
  var isExpired: Bool { expiresAt <= HTTPDate.now }

  /// Where a chunk lies in the file.
  func range(of index: Int) -> ByteRange {
    let offset = index * chunkSize
    return ByteRange(offset: offset, count: min(chunkSize, fileSize - offset))
  }

  func save(in folder: String) throws {
    try Disk.replace(folder + "/session.json", with: Array(try JSONEncoder().encode(self)))
  }

  static func load(from folder: String) -> SessionRecord? {
    Disk.read(folder + "/session.json").flatMap { try? JSONDecoder().decode(Self.self, from: Data($0)) }
  }
}
