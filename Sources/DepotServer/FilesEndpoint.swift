import FoundationEssentials
import HTTPTypes
import HummingbirdCore

/// `GET /files/PATH` and `/files/PATH/meta`: the root's files, and finished uploads by id.
struct FilesEndpoint: Sendable {
  struct MetaAnswer: Encodable {
    var size: Int
    var sha256: String
    var mimeType: String
    var etag: String
  }

  /// How long a ranged or whole answer waits for a digest that is still being calculated.
  static let digestPatience: Duration = .seconds(5)
  /// Bytes of the longest answer whose own digest is calculated before it is sent.
  static let longestDigested = 256 << 20

  let root: FileRoot
  let objects: ObjectStore
  let digests: DigestCache
  let pool: BlockingPool

  func meta(_ segments: [Substring], _ call: Call) async throws -> Answer {
    try allow(call, [.get, .head])
    let (file, type) = try await open(segments, call)
    let digest = Hex.encode(try await digests.digest(of: file))
    let etag = call.faults[\.etag] ?? file.identity.etag
    return .json(MetaAnswer(size: file.size, sha256: digest, mimeType: type, etag: etag))
  }

  func serve(_ segments: [Substring], _ call: Call) async throws -> Answer {
    try allow(call, [.get, .head])
    let (file, type) = try await open(segments, call)
    var etag: String? = file.identity.etag
    if let replaced = call.faults[\.etag] { etag = replaced == "none" ? nil : replaced }

    var headers: HTTPFields = [.acceptRanges: "bytes"]
    headers[.eTag] = etag
    headers[.lastModified] = HTTPDate.format(file.identity.modifiedSeconds)
    let conditions = Conditions(
      headers: call.request.headers, etag: etag, modified: file.identity.modifiedSeconds)
    switch conditions.verdict() {
    case .notModified: return Answer(.notModified, headers: headers)
    case .failed:
      var problem = Problem(412, "PRECONDITION_FAILED", "the file is another version than the request names")
      problem.headers[.eTag] = etag
      throw problem
    case .proceed: break
    }
    headers[.contentType] = type
    try await addDigest(of: file, to: &headers, call)

    let ranged = call.method == .get && conditions.rangeStands() && call.faults[\.ignoreRange] != true
    switch RangeHeader(ranged ? call.header(.range) : nil, length: file.size) {
    case .whole:
      let range = ByteRange(offset: 0, count: file.size)
      try await addContentDigest(of: file, range, to: &headers, call)
      return Answer(.ok, headers: headers, body: .file(file, range))
    case .unsatisfiable:
      var problem = Problem(416, "RANGE_NOT_SATISFIABLE", "the file has \(file.size) bytes")
      problem.headers[.contentRange] = "bytes */\(file.size)"
      throw problem
    case .part(let asked):
      let range = shifted(asked, size: file.size, call)
      headers[.contentRange] = contentRange(range, size: file.size, call)
      try await addContentDigest(of: file, range, to: &headers, call)
      return Answer(.partialContent, headers: headers, body: .file(file, range))
    }
  }

  private func open(_ segments: [Substring], _ call: Call) async throws -> (OpenFile, String) {
    let replacement = call.faults[\.replaceWith].map { $0.split(separator: "/") }
    guard let path = RootPath(encoded: replacement ?? segments) else { throw Problem.notFound }
    return try await pool.run { [root, objects] in
      if path.segments.count == 1, let (file, meta) = objects.open(path.name) { return (file, meta.mimeType) }
      guard let file = root.open(path) else { throw Problem.notFound }
      return (file, MediaType.of(path.name))
    }
  }

  private func addDigest(of file: OpenFile, to headers: inout HTTPFields, _ call: Call) async throws {
    if call.faults[\.reprDigest] == "none" { return }
    // RFC 9530: a weight of 0 says "not wanted", and spares a big file's first reading.
    if call.preference(.wantReprDigest) == 0 { return }
    guard var digest = await digests.digest(of: file, patience: Self.digestPatience) else { return }
    if call.faults[\.reprDigest] == "wrong" { digest[0] ^= 1 }
    headers[.reprDigest] = Self.dictionary(digest)
  }

  /// The digest of the bytes that this very answer carries (RFC 9530, 2), for who asks for it.
  private func addContentDigest(
    of file: OpenFile, _ range: ByteRange, to headers: inout HTTPFields, _ call: Call
  ) async throws {
    guard call.method == .get, range.count <= Self.longestDigested,
      (call.preference(.wantContentDigest) ?? 0) > 0, call.faults[\.contentDigest] != "none"
    else { return }
    var digest = try await pool.run { try file.digest(of: range) }
    if call.faults[\.contentDigest] == "wrong" { digest[0] ^= 1 }
    headers[.contentDigest] = Self.dictionary(digest)
  }

  private static func dictionary(_ digest: [UInt8]) -> String {
    "sha-256=:\(Data(digest).base64EncodedString()):"
  }

  private func shifted(_ range: ByteRange, size: Int, _ call: Call) -> ByteRange {
    guard let shift = call.faults[\.shiftRange] else { return range }
    let offset = min(range.offset + shift, size - 1)
    return ByteRange(offset: offset, count: min(range.count, size - offset))
  }

  private func contentRange(_ range: ByteRange, size: Int, _ call: Call) -> String? {
    switch call.faults[\.contentRange] {
    case "none": nil
    case "wrong": "bytes \(range.offset + 1)-\(range.end)/\(size + 1)"
    case .some(let literal): literal
    case nil: "bytes \(range.offset)-\(range.end - 1)/\(size)"
    }
  }

  private func allow(_ call: Call, _ methods: [HTTPRequest.Method]) throws {
    try Methods.require(call.method, methods)
  }
}
