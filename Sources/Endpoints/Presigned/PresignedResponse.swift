import Digests
import JobModel

/// Readings of what a presigning back end and the store behind it answer.
enum PresignedResponse {
  /// A key as it stands in a path: only what can't be in one is encoded.
  static func path(_ text: String) -> String {
    var out: [UInt8] = []
    let unsafe = Set("\"#<>?\\^`{|} ".utf8)
    for byte in text.utf8 {
      guard byte <= 0x20 || byte >= 0x7F || unsafe.contains(byte) else {
        out.append(byte)
        continue
      }
      out += Array("%".utf8) + Array(Hex.encode([byte]).uppercased().utf8)
    }
    return String(decoding: out, as: UTF8.self)
  }

  /// A refusal in the words of S3's error document, or of HTTP. Only the code is taken from the document: the rest
  /// may spell the signed URL.
  static func refusal(of response: Response, doing what: String, now: Double) -> Failure {
    var failure = HTTPFailure.of(response, doing: what, now: now)
    guard let code = errorCode(response.body) else { return failure }
    failure.message = "\(what): HTTP \(response.status) (\(code)) from \(response.url)"
    switch code {
    case "NoSuchUpload": failure.code = .sessionExpired
    case "ExpiredToken", "RequestExpired", "AuthorizationQueryParametersError": failure.code = .forbidden
    case "RequestTimeout", "BadDigest", "InternalError": failure.code = .serverError
    case "SlowDown", "RequestLimitExceeded", "Throttling": failure.code = .rateLimited
    default: break
    }
    return failure
  }

  /// The store lacks a part, or has another one: its word stands in the body, in whichever form the back end passes it on.
  static func lacksPart(_ response: Response) -> Bool {
    (400..<500).contains(response.status)
      && String(decoding: response.body.prefix(4096), as: UTF8.self).firstRange(of: "InvalidPart") != nil
  }

  /// The code of an S3 error document, `<Error><Code>…`, wherever it stands in the body.
  static func errorCode(_ body: [UInt8]) -> String? {
    let text = String(decoding: body.prefix(4096), as: UTF8.self)
    guard let start = text.firstRange(of: "<Code>"), let end = text.firstRange(of: "</Code>"),
      start.upperBound <= end.lowerBound
    else { return nil }
    let code = text[start.upperBound..<end.lowerBound]
    guard !code.isEmpty, code.count <= 64, code.utf8.allSatisfy({ PercentEncoding.isAlphanumeric($0) }) else {
      return nil
    }
    return String(code)
  }
}
