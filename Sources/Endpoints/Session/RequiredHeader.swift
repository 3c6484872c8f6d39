import JobModel

/// What a server may have put on every chunk (`requiredHeaders`).
enum RequiredHeader {
  /// What says which bytes are sent, and how many: nobody else's to set.
  private static let own: Set<String> = [
    "content-length", "content-range", "host", "transfer-encoding", "x-chunk-hash",
  ]

  /// Bytes of all of them: no server reads as many in one request.
  static let most = 64 << 10

  /// The value of a header that a server names: text, a number or a flag.
  static func value(_ told: JSON) -> String? {
    switch told {
    case .string(let text): text
    case .integer, .number, .exact, .bool: told.text
    case .null, .array, .object: nil
    }
  }

  /// Whether it is a header (RFC 9110, 5.1 and 5.5), and not one that would change what a chunk is.
  static func canBeSent(_ name: String, _ value: String) -> Bool {
    HeaderSetting.isToken(name) && HeaderSetting.isSafe(value: value) && !own.contains(name.lowercased())
  }
}
