import JobModel
import Testing

/// The table of report.md, Error codes.
struct ErrorCodeTests {
  private static let table: [(codes: String, retryable: Bool, partial: ErrorCode.Partial)] = [
    ("NETWORK_UNREACHABLE TIMEOUT SERVER_ERROR RATE_LIMITED", true, .kept),
    ("DISK_FULL SECRET_UNAVAILABLE", true, .kept),
    ("UNAUTHORIZED FORBIDDEN", false, .kept),
    ("SOURCE_MISSING SOURCE_CHANGED", false, .sessionKept),
    ("NOT_FOUND REMOTE_CHANGED", false, .dropped),
    ("INTEGRITY_MISMATCH LENGTH_MISMATCH TYPE_MISMATCH CHUNK_CONFLICT", false, .dropped),
    ("DIGEST_UNAVAILABLE RANGE_INVALID PROTOCOL_VIOLATION", false, .dropped),
    ("SESSION_EXPIRED", false, .dropped),
    ("TLS_FAILED POLICY_DENIED", false, .kept),
    ("DESTINATION_EXISTS PERMISSION_DENIED IO_ERROR", false, .kept),
    ("ATTRIBUTES_LOST", false, .dropped),
    ("ATTACH_FAILED", false, .kept),
    ("NEEDS_FAILED INTERNAL", false, .kept),
  ]

  @Test func codesAreThoseOfTheContract() {
    var listed: Set<String> = []
    for row in Self.table {
      for word in row.codes.split(separator: " ").map(String.init) {
        listed.insert(word)
        let code = ErrorCode(rawValue: word)
        #expect(code != nil, "\(word) is missing")
        #expect(code?.isRetryable == row.retryable, "\(word)")
        #expect(code?.partial == row.partial, "\(word)")
      }
    }
    #expect(Set(ErrorCode.allCases.map(\.rawValue)) == listed)
  }

  @Test func eachCodeHasAHintOfItsOwn() {
    let hints = Set(ErrorCode.allCases.map(\.hint))
    #expect(hints.count == ErrorCode.allCases.count)
    #expect(hints.allSatisfy { $0.count > 15 && !$0.hasSuffix(".") })
  }
}
