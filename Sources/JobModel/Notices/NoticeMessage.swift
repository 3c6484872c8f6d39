/// What one notice sends: all is decided but its secrets, which stay references.
package enum NoticeMessage: Sendable, Hashable {
  /// A program and its arguments, with its `HAUL_…` variables.
  case command([String], variables: [String: String], folder: String)
  case webhook(url: TextOrSecret, body: String, headers: [HeaderSetting], sign: SecretReference?)
  /// `path` goes below the URL's: `/start`, `/75`, or nothing.
  case ping(url: TextOrSecret, path: String)

  package var kind: String {
    switch self {
    case .command: "command"
    case .webhook: "webhook"
    case .ping: "ping"
    }
  }

  /// Who gets it: notices of one receiver keep their order.
  package var receiver: String {
    switch self {
    case .command(let words, _, _): words.first ?? ""
    case .webhook(let address, _, _, _), .ping(let address, _): "\(address)"
    }
  }

  /// As people and reports may see it: paths and queries of such URLs are often keys.
  package var target: String {
    switch self {
    case .command(let words, _, _): words.first ?? ""
    case .webhook(.text(let url), _, _, _), .ping(.text(let url), _): Self.masked(url)
    case .webhook(.secret, _, _, _), .ping(.secret, _): "***"
    }
  }

  package static func masked(_ url: String) -> String {
    guard let scheme = URLRule.schemeLength(url) else { return "***" }
    let rest = url.utf8.dropFirst(scheme)
    let authority = rest.prefix { !"/?#".utf8.contains($0) }
    let host =
      authority.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false).last ?? authority
    let isBare = rest.dropFirst(authority.count).allSatisfy { $0 == UInt8(ascii: "/") }
    return String(Substring(url.utf8.prefix(scheme))) + String(Substring(host)) + (isBare ? "" : "/***")
  }
}

/// A notice of an event that is on record: it is sent until it is delivered.
package struct OwedNotice: Sendable, Hashable {
  /// What its receiver knows it by, however often it comes.
  package var key: String
  package var event: NoticeEvent
  package var message: NoticeMessage
  /// What rules requests of it; nil where that can't be known, and none may be sent.
  package var policy: EffectivePolicy?
  /// Seconds since 1970.
  package var owedAt: Double

  package init(
    key: String, event: NoticeEvent, message: NoticeMessage, policy: EffectivePolicy?, owedAt: Double
  ) {
    self.key = key
    self.event = event
    self.message = message
    self.policy = policy
    self.owedAt = owedAt
  }
}

/// What came of a notice, as a report says it.
package struct NoticeRecord: Sendable, Hashable {
  package enum State: String, Sendable, Hashable, CaseIterable { case delivered, owed, failed }
  package var key: String
  package var event: NoticeEvent
  package var kind: String
  package var target: String
  package var state: State
  package var tries: Int
  package var error: String?

  package init(
    key: String, event: NoticeEvent, kind: String, target: String, state: State, tries: Int, error: String?
  ) {
    self.key = key
    self.event = event
    self.kind = kind
    self.target = target
    self.state = state
    self.tries = tries
    self.error = error
  }

  package init(_ notice: OwedNotice) {
    self.init(
      key: notice.key, event: notice.event, kind: notice.message.kind, target: notice.message.target,
      state: .owed, tries: 0, error: nil)
  }
}
