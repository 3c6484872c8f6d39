import Glibc
import HTTPTypes
import NIOHTTP1

/// An error answer: RFC 9457 problem details, with our code and what a client needs to go on.
struct Problem: Error, Encodable {
  var type = "about:blank"
  var title: String
  var status: Int
  var detail: String
  var code: String
  /// Chunk indexes that finalize lacks.
  var missing: [Int]?
  var expected: String?
  var actual: String?
  /// The limit in bytes that a chunk went over.
  var maxChunkSize: Int?

  /// Headers that go with the answer.
  var headers = HTTPFields()

  private enum CodingKeys: String, CodingKey {
    case type, title, status, detail, code, missing, expected, actual, maxChunkSize
  }

  init(_ status: Int, _ code: String, _ detail: String) {
    self.status = status
    self.code = code
    self.detail = detail
    title = Self.titles[status] ?? "Error"
  }

  /// The answer for any error: a problem as it is, a body that is not HTTP as 400, a full disk by name, the rest as 500.
  init(any error: any Error) {
    if let problem = error as? Problem {
      self = problem
    } else if error is HTTPParserError {
      self.init(400, "BAD_REQUEST", "the request's body can't be read: \(error)")
    } else if let error = error as? SystemError, [ENOSPC, EDQUOT].contains(error.code) {
      self.init(507, "INSUFFICIENT_STORAGE", "\(error)")
    } else {
      self.init(500, "INTERNAL", "\(error)")
    }
  }

  private static let titles = [
    400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
    409: "Conflict", 410: "Gone", 412: "Precondition Failed", 413: "Content Too Large",
    416: "Range Not Satisfiable", 422: "Unprocessable Content", 429: "Too Many Requests",
    500: "Internal Server Error", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
    507: "Insufficient Storage",
  ]

  static let notFound = Problem(404, "NOT_FOUND", "nothing is served under this path")

  func answer() -> Answer {
    var answer = Answer.json(self, status: .init(code: status))
    answer.headers[.contentType] = "application/problem+json"
    for field in headers { answer.headers.append(field) }
    return answer
  }
}
