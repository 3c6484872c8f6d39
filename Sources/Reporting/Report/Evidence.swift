import JobModel

/// What proves the transfers that are completed or up to date, counted.
package struct Evidence: Sendable, Hashable {
  /// Transfers of which a digest, or something as good, matched.
  package private(set) var verified = 0
  /// Transfers that nothing but size or type was compared of.
  package private(set) var unverified = 0
  /// How many transfers had each check with each result.
  private(set) var checks: [Verification: Int] = [:]

  package init() {}

  /// - Parameter count: transfers that were checked alike.
  mutating func add(_ verification: [Verification], count: Int = 1) {
    if verification.contains(where: \.proves) { verified += count } else { unverified += count }
    for check in Set(verification) { checks[check, default: 0] += count }
  }

  /// Counts a transfer of a report, if it is done.
  mutating func add(_ transfer: JSON) {
    guard Self.isDone(transfer) else { return }
    add(Self.checks(of: transfer))
  }

  /// Whether a transfer of a report is done, and a digest, or something as good, matched.
  static func isProved(_ transfer: JSON) -> Bool {
    isDone(transfer) && checks(of: transfer).contains(where: \.proves)
  }

  private static func isDone(_ transfer: JSON) -> Bool {
    ["completed", "up_to_date"].contains(transfer["state"].string)
  }

  private static func checks(of transfer: JSON) -> [Verification] {
    (transfer["verification"].array ?? []).compactMap { check in
      guard let name = check["check"].string,
        let against = check["against"].string.flatMap(Verification.Against.init(rawValue:)),
        let result = check["result"].string.flatMap(Verification.Result.init(rawValue:))
      else { return nil }
      return Verification(name, against, result)
    }
  }
}
