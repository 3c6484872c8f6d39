import FoundationEssentials
import HTTPTypes

/// A response before it is written: head, body, and nothing yet on the wire.
struct Answer: Sendable {
  /// Where the body's bytes come from.
  enum Body: Sendable {
    case none
    case bytes([UInt8])
    case file(OpenFile, ByteRange)

    var count: Int {
      switch self {
      case .none: 0
      case .bytes(let bytes): bytes.count
      case .file(_, let range): range.count
      }
    }
  }

  var status: HTTPResponse.Status
  var headers = HTTPFields()
  var body: Body = .none

  init(_ status: HTTPResponse.Status, headers: HTTPFields = [:], body: Body = .none) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// JSON with sorted keys and plain slashes.
  static func json(_ value: some Encodable, status: HTTPResponse.Status = .ok) -> Answer {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard var bytes = (try? encoder.encode(value)).map(Array.init) else {
      return Answer(.internalServerError)
    }
    bytes.append(UInt8(ascii: "\n"))
    return Answer(status, headers: [.contentType: "application/json"], body: .bytes(bytes))
  }
}
