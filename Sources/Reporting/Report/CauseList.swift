package import JobLedger
package import JobModel

/// The transfers that need attention, grouped by what they have in common: read in pages, in bounded memory.
package struct CauseList {
  package struct Group {
    /// The first transfer of it.
    var first: LedgerTransfer
    package var tally: CauseTally.Group
  }

  private struct Key: Hashable {
    var word: String
    var reason: String?
    var cause: Cause?
  }

  /// Failed first, then skipped, paused and queued; in each the largest first.
  package let groups: [Group]
  package let total: Int

  package init(
    _ ledger: JobLedger, _ counts: StateCounts, of attention: Attention = .all,
    describe: (LedgerTransfer) -> WirePlace
  ) throws {
    let waiting = counts.queued > 0 && attention == .all ? try ledger.queuedForReasons() : 0
    let ended = attention == .retries ? 0 : counts.failed + counts.skippedForNeeds
    guard ended + counts.paused + waiting > 0 else {
      (groups, total) = ([], 0)
      return
    }
    var groups: [Key: Group] = [:]
    var order: [Key] = []
    var last: Int64 = 0
    var total = 0
    while true {
      let page = try ledger.needingAttention(after: last, attention, limit: 500)
      guard let end = page.last else { break }
      last = end.seq
      for transfer in page {
        let (key, example) = Self.key(transfer, describe, isFull: groups.count >= CauseTally.limit) {
          groups[$0] != nil
        }
        if groups[key] == nil {
          let cause = key.cause ?? Cause(code: "", host: nil, message: "")
          groups[key] = Group(first: transfer, tally: .init(cause: cause, example: example))
          order.append(key)
        }
        groups[key]?.tally.count += 1
        if let ids = groups[key]?.tally.ids, ids.count < CauseTally.named {
          groups[key]?.tally.ids.append(transfer.id)
        }
        total += 1
      }
    }
    self.total = total
    self.groups = order.enumerated().compactMap { index, key in
      groups[key].map { (Cause.rank(of: key.word), -$0.tally.count, index, $0) }
    }.sorted { ($0.0, $0.1, $0.2) < ($1.0, $1.1, $1.2) }.map(\.3)
  }

  private static func key(
    _ transfer: LedgerTransfer, _ describe: (LedgerTransfer) -> WirePlace, isFull: Bool,
    isKnown: (Key) -> Bool
  ) -> (Key, String) {
    let word = transfer.state.word
    let reason = Cause.group(of: transfer.state.reason)
    guard let failure = transfer.standingFailure else { return (Key(word: word, reason: reason), "") }
    let cause = Cause(failure, id: transfer.id, host: describe(transfer).url.flatMap(URLHost.of))
    let key = Key(word: word, reason: reason, cause: cause)
    guard isFull, !isKnown(key) else { return (key, failure.message) }
    let other = Cause.various(failure.code.rawValue)
    return (Key(word: word, reason: reason, cause: other), other.message)
  }

  /// `causes` of a report: what failed, or waits after a failure.
  var json: JSON {
    .array(
      groups.filter { !$0.tally.cause.code.isEmpty }.map { group in
        [
          "code": .string(group.tally.cause.code), "host": .text(group.tally.cause.host),
          "message": .string(
            Masking.text(group.tally.count == 1 ? group.tally.example : group.tally.cause.message)),
          "count": .int(group.tally.count), "ids": .array(group.tally.ids.map { .string($0) }),
        ]
      })
  }
}

enum URLHost {
  /// Scheme, host and port of an http(s) URL.
  static func origin(of url: String) -> String? {
    of(url).map { (url.hasPrefix("https:") ? "https://" : "http://") + $0 }
  }

  /// Host and port of an http(s) URL.
  static func of(_ url: String) -> String? {
    let slash = UInt8(ascii: "/")
    let rest = url.utf8.split(separator: slash, maxSplits: 2, omittingEmptySubsequences: false)
    guard rest.count > 2, rest[1].isEmpty else { return nil }
    let authority = rest[2].prefix { $0 != slash && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
    let host =
      authority.lastIndex(of: UInt8(ascii: "@")).map { authority[authority.index(after: $0)...] } ?? authority
    return host.isEmpty ? nil : String(Substring(host))
  }
}
