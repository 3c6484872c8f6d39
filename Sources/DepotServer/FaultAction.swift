/// What a matching fault rule does to one exchange. Any number of them go together; see docs/depot.md.
struct FaultAction: Sendable {
  struct Header: Decodable, Sendable {
    var name: String
    var value: String
  }

  var delay: Duration?
  var status: Int?
  var retryAfter: String?
  var code: String?
  /// Close after this many bytes of the answer's body, or of the request's.
  var dropAfter: Int?
  var dropUploadAfter: Int?
  /// Flip the lowest bit of the byte at this offset of the answer's body, or of the request's.
  var flipBit: Int?
  var flipUploadBit: Int?
  /// The body is this many bytes shorter or longer than its Content-Length.
  var shortBy: Int?
  var longBy: Int?
  /// Bytes per second of the answer's body, or of the request's.
  var rate: Int?
  var uploadRate: Int?
  /// `none`, `wrong` or a literal value.
  var contentRange: String?
  /// Answer the range this many bytes further on, with a Content-Range that admits it.
  var shiftRange: Int?
  var ignoreRange: Bool?
  var loseAnswer: Bool?
  var expire: Bool?
  /// `session` or `chunks`.
  var forget: String?
  var requireHeader: Header?
  /// `none` or a literal value.
  var etag: String?
  /// Serve this file of the root instead, as if it had taken the name.
  var replaceWith: String?
  /// `none` or `wrong`.
  var reprDigest: String?
  /// `none` or `wrong`.
  var contentDigest: String?
  /// `wrong`: finalize answers another hash.
  var finalHash: String?
  /// No Content-Length: chunked transfer coding.
  var chunked: Bool?
}

extension FaultAction: Decodable {
  private enum Key: String, CodingKey, CaseIterable {
    case delay, status, retryAfter, code, dropAfter, dropUploadAfter, flipBit, flipUploadBit, shortBy, longBy
    case rate, uploadRate, contentRange, shiftRange, ignoreRange, loseAnswer, expire, forget, requireHeader
    case etag, replaceWith, reprDigest, contentDigest, finalHash, chunked
  }

  init(from decoder: any Decoder) throws {
    try StrictKeys.check(decoder, known: Key.allCases.map(\.rawValue))
    let box = try decoder.container(keyedBy: Key.self)
    func bytes(_ key: Key) throws -> Int? { try box.decodeIfPresent(ByteAmount.self, forKey: key)?.count }
    func bytesPerSecond(_ key: Key) throws -> Int? {
      let count = try bytes(key)
      guard count == 0 else { return count }
      let reason = "\(key.rawValue): expected 1 or more, not 0"
      throw DecodingError.dataCorruptedError(forKey: key, in: box, debugDescription: reason)
    }
    func text(_ key: Key, among words: [String]? = nil) throws -> String? {
      let text = try box.decodeIfPresent(String.self, forKey: key)
      guard let words, let text, !words.contains(text) else { return text }
      let reason = "\(key.rawValue): expected one of \(words.joined(separator: ", ")), not \(text)"
      throw DecodingError.dataCorruptedError(forKey: key, in: box, debugDescription: reason)
    }
    func flag(_ key: Key) throws -> Bool? { try box.decodeIfPresent(Bool.self, forKey: key) }
    delay = try text(.delay).map { text in
      guard let delay = Quantity.duration(text) else {
        let reason = "delay: expected a duration such as 500ms or 2s, not \(text)"
        throw DecodingError.dataCorruptedError(forKey: .delay, in: box, debugDescription: reason)
      }
      return delay
    }
    status = try box.decodeIfPresent(Int.self, forKey: .status)
    if let status, !(200...599).contains(status) {
      let reason = "status: expected 200 to 599, not \(status)"
      throw DecodingError.dataCorruptedError(forKey: .status, in: box, debugDescription: reason)
    }
    retryAfter = try text(.retryAfter)
    code = try text(.code)
    (dropAfter, dropUploadAfter) = (try bytes(.dropAfter), try bytes(.dropUploadAfter))
    (flipBit, flipUploadBit) = (try bytes(.flipBit), try bytes(.flipUploadBit))
    (shortBy, longBy) = (try bytes(.shortBy), try bytes(.longBy))
    (rate, uploadRate) = (try bytesPerSecond(.rate), try bytesPerSecond(.uploadRate))
    contentRange = try text(.contentRange)
    shiftRange = try bytes(.shiftRange)
    (ignoreRange, loseAnswer, expire) = (try flag(.ignoreRange), try flag(.loseAnswer), try flag(.expire))
    forget = try text(.forget, among: ["session", "chunks"])
    requireHeader = try box.decodeIfPresent(Header.self, forKey: .requireHeader)
    (etag, replaceWith) = (try text(.etag), try text(.replaceWith))
    reprDigest = try text(.reprDigest, among: ["none", "wrong"])
    contentDigest = try text(.contentDigest, among: ["none", "wrong"])
    finalHash = try text(.finalHash, among: ["wrong"])
    chunked = try flag(.chunked)
  }
}

/// Bytes in a fault file: a number, or a word such as `64KiB`.
private struct ByteAmount: Decodable {
  var count: Int

  init(from decoder: any Decoder) throws {
    let box = try decoder.singleValueContainer()
    if let number = try? box.decode(Int.self), number >= 0 {
      count = number
    } else if let text = try? box.decode(String.self), let number = Quantity.bytes(text) {
      count = number
    } else {
      let reason = "expected a number of bytes, such as 4096 or \"64KiB\""
      throw DecodingError.dataCorruptedError(in: box, debugDescription: reason)
    }
  }
}
