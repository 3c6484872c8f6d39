import FoundationEssentials
import HTTPTypes
import HummingbirdCore
import NIOCore
import Synchronization

/// One request with what is to go wrong with it.
struct Call: Sendable {
  let request: Request
  let faults: FaultPlan
  let tally = Tally()

  var method: HTTPRequest.Method { request.method }
  var path: String { request.head.path ?? "/" }

  func header(_ name: HTTPField.Name) -> String? { request.headers[name] }

  /// How much a SHA-256 is preferred by a `Want-…-Digest` field, from 0, not at all, to 10 (RFC 9530, 4).
  func preference(_ name: HTTPField.Name) -> Int? {
    for item in (header(name) ?? "").split(separator: ",") {
      let pair = item.filter { $0 != " " }.split(separator: "=", maxSplits: 1)
      if pair.count == 2, pair[0].lowercased() == "sha-256" { return Int(pair[1]) }
    }
    return nil
  }

  /// Tells a client that waits with its body to send it (RFC 9110, 10.1.1).
  func invite(_ writer: borrowing ResponseWriter) async throws {
    guard header(.expect)?.lowercased() == "100-continue" else { return }
    try await writer.writeInformationalHead(HTTPResponse(status: .continue))
  }

  /// The request's body, to be read once.
  func body() -> RequestBody {
    tally.isReading.store(true, ordering: .relaxed)
    return request.body
  }

  /// Reads a body that nobody wanted, so that the access log knows what came.
  func drain() async {
    // A client that asks first, and is refused, sends none.
    guard !tally.isReading.load(ordering: .relaxed), header(.expect) == nil else { return }
    do { for try await buffer in body() { tally.addIn(buffer.readableBytes) } } catch {
      // The client went away: what came until then is counted.
    }
  }

  /// The JSON body; an empty one reads as `{}`.
  func json<Value: Decodable>(_ type: Value.Type, _ writer: borrowing ResponseWriter) async throws -> Value {
    let limit = 64 << 10
    try await invite(writer)
    var content: [UInt8] = []
    for try await buffer in body() {
      tally.addIn(buffer.readableBytes)
      content.append(contentsOf: buffer.readableBytesView)
      guard content.count <= limit else {
        throw Problem(413, "BODY_TOO_LARGE", "the JSON of this request may have \(limit) bytes")
      }
    }
    if content.isEmpty { content = Array("{}".utf8) }
    do {
      return try JSONDecoder().decode(type, from: Data(content))
    } catch {
      throw Problem(
        400, "BAD_REQUEST", "the body is not the JSON that is expected here: \(Self.explain(error))")
    }
  }

  private static func explain(_ error: any Error) -> String {
    switch error {
    case DecodingError.keyNotFound(let key, _): "\(key.stringValue) is missing"
    case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context):
      "\(context.codingPath.map(\.stringValue).joined(separator: ".")): \(context.debugDescription)"
    default: "it can't be parsed"
    }
  }
}

/// Ends an exchange by closing its connection, because a fault rule says so.
struct ConnectionDropped: Error {}
