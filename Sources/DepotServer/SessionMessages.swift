/// The JSON of the chunk-session API.
enum SessionMessages {
  struct Create: Decodable, Sendable {
    var fileName: String
    var fileSize: Int
    var mimeType: String?
    var chunkSize: Int?
    var fileHashSha256: String?
    var resumeFrom: String?
  }

  struct Created: Encodable {
    var sessionId: String
    var expiresAt: String
    var chunkSize: Int
    var maxChunkSize: Int
    var receivedChunks: [Int]
    var requiredHeaders: [String: String]?
  }

  struct Status: Encodable {
    var sessionId: String
    var fileName: String
    var fileSize: Int
    var chunkSize: Int
    var receivedChunks: [Int]
    var expiresAt: String
    var finalized: Bool
    var remoteFileId: String?
    var fileHashSha256: String?
  }

  struct Finalize: Decodable {
    var fileHashSha256: String?
  }

  struct Finalized: Encodable {
    var remoteFileId: String
    var fileHashSha256: String
  }

  /// Checks a whole-file digest and brings it to lower case.
  static func hash(_ text: String?) throws -> String? {
    guard let text else { return nil }
    guard let digest = Hex.sha256(text) else {
      throw Problem(400, "BAD_REQUEST", "fileHashSha256 must be 64 hexadecimal digits")
    }
    return digest
  }
}

extension SessionMessages.Create {
  /// More chunks than this would make the lists of the API unwieldy: the chunk size is raised instead.
  private static let maxChunks = 1_000_000

  /// The session that this asks for.
  func record(ttl: Duration, maxChunk: Int) throws -> SessionRecord {
    guard RootPath(fileName: fileName) != nil else {
      throw Problem(
        400, "BAD_FILE_NAME",
        "fileName must be a relative path without empty, . or .. parts, control characters or .depot at its start"
      )
    }
    guard fileSize >= 0 else { throw Problem(400, "BAD_REQUEST", "fileSize must not be negative") }
    let requested = chunkSize ?? min(4 << 20, maxChunk)
    guard requested > 0 else { throw Problem(400, "BAD_REQUEST", "chunkSize must be positive") }
    let smallest = fileSize / Self.maxChunks + 1
    guard smallest <= maxChunk else {
      throw Problem(413, "FILE_TOO_LARGE", "more than \(Self.maxChunks) chunks of \(maxChunk) bytes")
    }
    return SessionRecord(
      id: RandomID.make(prefix: "us-"), remoteFileId: RandomID.make(prefix: "rf-"), fileName: fileName,
      fileSize: fileSize,
      mimeType: mimeType.flatMap { MediaType.isValid($0) ? $0 : nil } ?? MediaType.of(fileName),
      chunkSize: max(min(requested, maxChunk), smallest),
      fileHashSha256: try SessionMessages.hash(fileHashSha256),
      expiresAt: HTTPDate.now + 1 + ttl.milliseconds / 1000)
  }
}
