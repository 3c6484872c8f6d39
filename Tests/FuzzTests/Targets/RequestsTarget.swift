import FoundationEssentials
import HTTPTypes
import JobModel

@testable import DepotServer

/// `METHOD TARGET`, header lines, an empty line and a body: all that depot reads of a request before it opens a file.
enum RequestsTarget {
  static func run(_ bytes: [UInt8]) throws {
    let message = Message(bytes)
    let target = message.start.dropFirst().first ?? "/"
    try route(target)
    try fileName(target)
    var fields = HTTPFields()
    for field in message.fields {
      if let name = HTTPField.Name(field.name) { fields.append(HTTPField(name: name, value: field.value)) }
      try value(field.value, target)
    }
    for etag in [nil, "\"1-2-3\""] {
      let conditions = Conditions(headers: fields, etag: etag, modified: 784_111_777)
      _ = conditions.verdict(now: 1_700_000_000)
      _ = conditions.rangeStands(now: 1_700_000_000)
    }
    try? BearerGuard(token: Array("token".utf8)).check(fields)
    try create(message.body)
  }

  private static func route(_ target: String) throws {
    switch Route(path: target) {
    case .file(let segments), .meta(let segments):
      guard let path = RootPath(encoded: segments) else { return }
      try safe(path)
    case .session(let id), .chunks(let id), .finalize(let id), .chunk(let id, _):
      try require(!id.utf8.contains(UInt8(ascii: "/")), "an id with a slash: \(id)")
    case .sessions, .unknown: break
    }
  }

  private static func fileName(_ text: String) throws {
    guard let path = RootPath(fileName: text) else { return }
    try safe(path)
    try require(Array(path.text.utf8) == Array(text.utf8), "\(text) became \(path.text)")
  }

  /// What the kernel gets is the path that was checked: below the root, and not depot's own state.
  private static func safe(_ path: RootPath) throws {
    let bytes = path.cString.dropLast().map { UInt8(bitPattern: $0) }
    try require(path.cString.last == 0 && !bytes.contains(0), "a path with NUL: \(bytes)")
    let segments = bytes.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map(Array.init)
    try require(segments == path.segments, "\(path.text) is read as other segments")
    try require(
      segments.allSatisfy { !$0.isEmpty && $0 != [46] && $0 != [46, 46] && $0.count <= 255 }, path.text)
    try require(segments.first != Array(".depot".utf8), path.text)
  }

  private static func value(_ text: String, _ target: String) throws {
    for length in [0, 1, 100, Int.max] {
      guard case .part(let range) = RangeHeader(text, length: length) else { continue }
      try require(
        range.offset >= 0 && range.count > 0 && range.count <= length - range.offset, "\(range) of \(length)")
    }
    if let range = ContentRange(text) {
      try require(range.first >= 0 && range.first <= range.last && range.last < range.total, "\(range)")
      try require(range.count > 0, "\(range)")
    }
    if let date = HTTPDate.parse(text) { _ = (HTTPDate.format(date), HTTPDate.rfc3339(date)) }
    _ = MediaType.isValid(text)
    _ = MediaType.of(target)
    if let count = Quantity.bytes(text) { try require(count >= 0, "\(count) bytes") }
    if let delay = Quantity.duration(text) { try require(delay.milliseconds >= 0, "\(delay)") }
    _ = Glob.matches(text, target)
    var options = DepotOptions(root: "/")
    try? options.setListen(text)
    if let digest = Hex.sha256(text) { try require(digest.utf8.count == 64, digest) }
  }

  private static func create(_ body: [UInt8]) throws {
    let decoder = JSONDecoder()
    if let wish = try? decoder.decode(SessionMessages.Finalize.self, from: Data(body)) {
      _ = try? SessionMessages.hash(wish.fileHashSha256)
    }
    guard let wish = try? decoder.decode(SessionMessages.Create.self, from: Data(body)) else { return }
    for maxChunk in [1, 4096, 16 << 20, 1 << 40] {
      guard let record = try? wish.record(ttl: .seconds(86_400), maxChunk: maxChunk) else { continue }
      try require((1...maxChunk).contains(record.chunkSize), "chunks of \(record.chunkSize) of \(maxChunk)")
      try require((0...1_000_000).contains(record.chunkCount), "\(record.chunkCount) chunks")
      if record.chunkCount > 0 {
        let last = record.range(of: record.chunkCount - 1)
        try require(last.count > 0 && last.end == record.fileSize, "\(last) of \(record.fileSize)")
      }
      try require(MediaType.isValid(record.mimeType), "a media type that is no header: \(record.mimeType)")
      let path = try require(RootPath(fileName: record.fileName), "a name that was refused")
      try safe(path)
    }
  }
}
