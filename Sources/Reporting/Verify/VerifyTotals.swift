package import JobModel

/// How many transfers `haul verify` has compared, and how that came out.
package struct VerifyTotals: Sendable, Hashable {
  package private(set) var verified = 0
  package private(set) var different = 0
  /// By reason.
  package private(set) var unverifiable: [String: Int] = [:]
  /// Of the unverifiable: those that could be compared later.
  package private(set) var passing = 0
  /// Bytes that were read to compare them.
  package var bytesRead: Int64 = 0

  package init() {}

  package mutating func add(_ comparison: Comparison) {
    switch comparison {
    case .verified: verified += 1
    case .different: different += 1
    case .unverifiable(let reason, let isPassing):
      unverifiable[reason, default: 0] += 1
      if isPassing { passing += 1 }
    }
  }

  package var unverifiableCount: Int { unverifiable.values.reduce(0, +) }
  package var compared: Int { verified + different + unverifiableCount }

  package var json: JSON {
    [
      "compared": .int(compared), "verified": .int(verified), "different": .int(different),
      "unverifiable": .int(unverifiableCount), "retryable": .int(passing), "bytes_read": .integer(bytesRead),
      "reasons": .object(
        unverifiable.sorted { $0.key < $1.key }.map { JSON.Member($0.key, .int($0.value)) }),
    ]
  }

  /// Reads what `json` wrote; nil for anything else.
  package init?(_ json: JSON) {
    func count(_ name: String) -> Int? { json[name].int64.flatMap { Int(exactly: $0) } }
    guard let verified = count("verified"), let different = count("different"),
      let passing = count("retryable"), let bytes = json["bytes_read"].int64,
      let reasons = json["reasons"].members
    else { return nil }
    (self.verified, self.different, self.passing, bytesRead) = (verified, different, passing, bytes)
    for reason in reasons { unverifiable[reason.name] = reason.value.int64.flatMap { Int(exactly: $0) } }
  }

  /// One line that sums it up.
  package func text(job: String, isComplete: Bool) -> String {
    var text = "\(job): \(verified) verified, \(different) different, \(unverifiableCount) unverifiable"
    if !unverifiable.isEmpty {
      let reasons = unverifiable.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { reason, count in
        "\(Comparison.Unverifiable(rawValue: reason)?.text ?? reason): \(count)"
      }
      text += " (\(reasons.joined(separator: "; ")))"
    }
    text += "; \(Figures.bytes(bytesRead)) read"
    return DisplayText.safe(isComplete ? text : text + "; stopped before the end") + "\n"
  }
}
