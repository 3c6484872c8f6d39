import JobModel

/// Reading many rows: what they say in the same words is read once, and what nobody asked for not at all.
struct RepeatedTexts {
  /// What identifies local files is for a transfer's own work; a report does without.
  let hasFacts: Bool
  private static let most = 64
  private var verifications: [String: [Verification]] = [:]

  init(hasFacts: Bool = true) { self.hasFacts = hasFacts }

  /// - Parameter read: reads a text that is new.
  mutating func verification(_ text: String, _ read: (String) -> [Verification]) -> [Verification] {
    if let known = verifications[text] { return known }
    let found = read(text)
    if verifications.count < Self.most { verifications[text] = found }
    return found
  }
}
