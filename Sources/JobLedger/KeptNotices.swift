package import JobModel

/// What a job tells of its runs, as its last valid manifest said: kept for runs whose manifest can't be read. Secrets are
/// references.
package struct KeptNotices: Sendable, Hashable {
  /// Where the ledger keeps it (`JobLedger.meta`).
  package static let meta = "notices"

  package var notices: [NoticeTemplate]
  /// What rules requests of them.
  package var policy: EffectivePolicy?
  /// Where commands run.
  package var folder: String

  package init(notices: [NoticeTemplate], policy: EffectivePolicy?, folder: String) {
    (self.notices, self.policy, self.folder) = (notices, policy, folder)
  }

  package init?(_ text: String) {
    guard let json = JSON(Array(text.utf8)), let folder = json["folder"].string else { return nil }
    notices = (json["notices"].array ?? []).compactMap(NoticeTemplateJSON.read)
    policy = json["policy"].members == nil ? nil : PolicyJSON.read(JSONText(json["policy"].text))
    self.folder = folder
  }

  package var text: String {
    JSON.object([
      .init("notices", .array(notices.map(NoticeTemplateJSON.write))),
      .init("policy", policy.map { PolicyJSON.write($0) } ?? .null), .init("folder", .string(folder)),
    ]).text
  }

  /// Without those that say what a mask knows.
  package func without(_ mask: SecretMask) -> KeptNotices {
    var kept = self
    kept.notices.removeAll { notice in
      let text = NoticeTemplateJSON.write(notice).text
      return mask.masked(text) != text
    }
    return kept
  }
}
