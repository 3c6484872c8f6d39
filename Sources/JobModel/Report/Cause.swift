/// What several failures have in common.
package struct Cause: Sendable, Hashable {
  /// An error's code; empty for a warning.
  package var code: String
  /// The host that answered, or did not; nil where none has a part in it.
  package var host: String?
  /// Without what names one transfer (`CauseMessage`).
  package var message: String

  package init(code: String, host: String?, message: String) {
    self.code = code
    self.host = host
    self.message = message
  }

  /// - Parameter host: the transfer's own, for messages that name none.
  package init(_ failure: Failure, id: String, host: @autoclosure () -> String? = nil) {
    code = failure.code.rawValue
    message = CauseMessage.general(failure.message, id: id)
    self.host = failure.code.isOfAHost ? Self.host(in: message) ?? host() : nil
  }

  /// Stands for those of a code that are too many to be told apart.
  package static func various(_ code: String) -> Cause {
    Cause(code: code, host: nil, message: "various messages")
  }

  /// What transfers are grouped by: each need has a reason of its own.
  package static func group(of reason: String?) -> String? {
    reason?.hasPrefix("needs:") == true ? "needs:…" : reason
  }

  /// Where groups of a state stand among others: what failed comes first.
  package static func rank(of state: String) -> Int {
    ["failed": 0, "skipped": 1, "paused": 2][state] ?? 3
  }

  private static func host(in message: String) -> String? {
    for word in message.utf8.split(whereSeparator: { " `\"'()".utf8.contains($0) }) {
      for scheme in ["http://", "https://"] where word.starts(with: scheme.utf8) {
        let rest = Substring(word.dropFirst(scheme.utf8.count)).prefix { $0 != "/" && $0 != "?" && $0 != "…" }
        if !rest.isEmpty { return String(rest.last == ":" ? rest.dropLast() : rest) }
      }
    }
    return nil
  }
}

/// Causes with how often each came and the first ids, in bounded memory.
package struct CauseTally: Sendable {
  package struct Group: Sendable, Hashable {
    package var cause: Cause
    package var count = 0
    package var ids: [String] = []
    /// The first failure's own words.
    package var example: String

    package init(cause: Cause, example: String) {
      self.cause = cause
      self.example = example
    }
  }

  /// Causes beyond these are counted together, by code.
  package static let limit = 200
  package static let named = 3
  private var groups: [Cause: Group] = [:]
  private var order: [Cause] = []

  package init() {}

  /// - Returns: how often the cause has come by now.
  @discardableResult
  package mutating func add(_ cause: Cause, id: String, example: String) -> Int {
    var key = cause
    if groups[key] == nil, groups.count >= Self.limit {
      key = .various(cause.code)
    }
    if groups[key] == nil {
      groups[key] = Group(cause: key, example: key == cause ? example : key.message)
      order.append(key)
    }
    groups[key]?.count += 1
    if let ids = groups[key]?.ids, ids.count < Self.named, !ids.contains(id) { groups[key]?.ids.append(id) }
    return groups[key]?.count ?? 0
  }

  /// In the order in which they came.
  package var all: [Group] { order.compactMap { groups[$0] } }

  /// `a, b, c and 1994 more`.
  package static func names(_ ids: [String], of count: Int) -> String {
    let rest = count - ids.count
    return ids.joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
  }
}

extension ErrorCode {
  /// A host has a part in it, and where it fails, others may not.
  var isOfAHost: Bool {
    switch self {
    case .diskFull, .secretUnavailable, .sourceMissing, .sourceChanged, .destinationExists, .permissionDenied,
      .ioError, .attributesLost, .needsFailed, .internal:
      false
    case .networkUnreachable, .timeout, .serverError, .rateLimited, .unauthorized, .forbidden, .notFound,
      .remoteChanged, .integrityMismatch, .lengthMismatch, .typeMismatch, .chunkConflict, .digestUnavailable,
      .rangeInvalid, .protocolViolation, .sessionExpired, .tlsFailed, .policyDenied, .attachFailed:
      true
    }
  }
}
