import Endpoints
import HTTPClient
import JobLedger
import JobModel
import LocalFiles

/// The attributes that go along with an upload or a copy: decided before a byte is sent, and proved behind the last one
/// where their loss fails the transfer.
struct UploadAttributes {
  let scope: UploadScope
  let source: SendingSource

  private var record: TransferRecord { scope.record }
  private var rule: PreserveRule { scope.settings.preserve }
  private var destination: EndpointAbilities { abilities(record.transfer.destination) }

  private func abilities(_ place: Place) -> EndpointAbilities {
    RemotePlace.driver(place, scope.context.endpoints).abilities
  }

  private var ends: AttributePlan.Ends {
    var tells = source.copy == nil ? LocalAttributes.tells : abilities(record.transfer.source).tells
    if let copy = source.copy, scope.context.uploads.tagging.isUntold(in: copy.origin.source.origin) {
      tells.remove(.tags)
    }
    return AttributePlan.Ends(tells: tells, keeps: destination.keeps, areRemote: source.copy != nil)
  }

  /// Decides what is sent, and notes what is not.
  ///
  /// - Throws: `ATTRIBUTES_LOST` where that can be told already.
  nonisolated(nonsending) func decide() async throws {
    guard rule != .none else { return record.note(.attributes(KeptAttributes())) }
    // What its session was opened without can't be said any more.
    let before = record.progress.session == nil ? [] : record.progress.attributes.lost
    let (told, hasType) = (try await told(), source.sendsSourceType)
    let plan = AttributePlan(
      rule, ends, of: told, hasType: hasType,
      storesByClass: source.copy != nil && destination.takes.contains(.storageClass))
    // What fails here has moved nothing, and kept nothing.
    record.note(.attributes(KeptAttributes(lost: plan.lost)))
    try plan.check(rule, scope.sink.place)
    if rule.demands(.tags), plan.preserved.contains(.tags) { try await expectTagging() }
    source.request.preserved = plan.sent
    source.request.demanded = rule.demanded
    record.note(.attributes(plan.kept))
    noteLost(before.intersection(plan.preserved))
  }

  /// Notes what the store refused when the session was opened: a later attempt goes on with it, and is not told.
  func noteRefused() {
    noteLost(scope.sink.refusedAttributes.intersection(record.progress.attributes.preserved))
  }

  private func noteLost(_ attributes: Set<Attribute>) {
    guard !attributes.isEmpty else { return }
    var kept = record.progress.attributes
    kept.preserved.subtract(attributes)
    kept.lost.formUnion(attributes)
    record.note(.attributes(kept))
  }

  /// What the source has.
  private nonisolated(nonsending) func told() async throws -> ObjectAttributes {
    guard let copy = source.copy else { return try source.localAttributes() }
    let from = abilities(record.transfer.source)
    let object = try await copy.described()
    var attributes = object.attributes
    // When a store was given an object says little of the file: that counts where it is asked for by name.
    attributes.mtime = object.mtime(byLastModified: rule.named[.mtime] != nil || !from.datesStoring)
    if rule.asks(for: .tags), from.tells.contains(.tags), attributes.tags == nil, attributes.tagCount != 0,
      destination.keeps.contains(.tags) || rule.demands(.tags)
    {
      attributes.tags = try await tags(copy, count: attributes.tagCount)
      if attributes.tags?.isEmpty == true { attributes.tagCount = 0 }
    }
    return attributes
  }

  /// The source's tags; nil where it does not tell them.
  private nonisolated(nonsending) func tags(_ copy: CopySource, count: Int?) async throws -> [String: String]?
  {
    let (origin, known) = (copy.origin.source.origin, scope.context.uploads.tagging)
    if count != nil { known.note(countsIn: origin) }
    // Where a store tells numbers of tags, an object of which it tells none has none.
    if count == nil, known.counts(in: origin) { return [:] }
    if known.isUntold(in: origin) { return nil }
    let tags = try await copy.origin.source.tags(of: copy.object)
    record.count(copy.origin.requester.takeTally())
    switch tags {
    case nil: return [:]
    case .success(let tags): return tags
    case .failure(let failure):
      if failure.saysUnknown {
        known.note(untoldIn: origin)
      } else {
        record.warn("the source's tags can't be read, and do not go along: \(failure.message)")
      }
      return nil
    }
  }

  /// Asks the destination for tags before a byte is sent: a store that knows none would take them and drop them.
  ///
  /// - Throws: `ATTRIBUTES_LOST` where it knows none.
  private nonisolated(nonsending) func expectTagging() async throws {
    let answer = try await scope.sink.tags()
    guard case .failure(let failure)? = answer, failure.saysUnknown else { return }
    throw Failure(
      .attributesLost, "\(scope.sink.place) keeps no `tags`, which `preserve` demands: \(failure.message)",
      class: .permanent)
  }

  // MARK: Proof

  /// Compares what the destination tells of the finished file with what was sent.
  ///
  /// - Parameter seen: what was looked at already; nil where nothing was.
  /// - Throws: `ATTRIBUTES_LOST` where one is not there that may not be lost.
  nonisolated(nonsending) func prove(_ file: UploadedFile, seen: RemoteObject?) async throws {
    // After a kill nothing was decided in this attempt yet.
    if !rule.demanded.isEmpty, source.request.demanded.isEmpty { try await decide() }
    var kept = record.progress.attributes
    func lose(_ attributes: Set<Attribute>) {
      if !rule.isImplied { kept.lost.formUnion(attributes.intersection(kept.preserved)) }
      kept.preserved.subtract(attributes)
    }
    lose(scope.sink.refusedAttributes)
    let demanded = rule.demanded.intersection(kept.preserved).intersection(destination.tells)
    var found = seen
    if found == nil, !demanded.isEmpty,
      case .object(let object, _)? = try await scope.sink.inspect(file, source: source.request, chunks: [])
    {
      found = object
    }
    if let found {
      lose(missing(in: found).intersection(destination.tells))
      if demanded.contains(.tags), found.attributes.tagCount == nil { try await proveTags(&kept) }
    }
    record.note(.attributes(kept))
    try AttributePlan.check(kept.lost, rule, "\(scope.sink.place) took the file, and dropped")
  }

  /// Attributes that were sent and are not told of what stands there now, as far as one look tells them.
  private func missing(in found: RemoteObject) -> Set<Attribute> {
    let (sent, there) = (source.request.preserved, found.attributes)
    let given = source.request.given
    var missing: Set<Attribute> = []
    if let type = found.contentType, !Self.isSameType(type, source.request.contentType) {
      missing.insert(.contentType)
    }
    if sent.headers.contains(where: { there.headers[$0.key] != $0.value }) { missing.insert(.contentHeaders) }
    var metadata = sent.metadata.merging(given.metadata) { $1 }
    for (name, attribute) in [
      (ObjectAttributes.mtimeName, Attribute.mtime), (ObjectAttributes.modeName, .mode),
    ]
    where rule.asks(for: attribute) { metadata[name] = nil }
    if metadata.contains(where: { there.metadata[$0.key] != $0.value }) { missing.insert(.metadata) }
    if let time = sent.mtime, given.metadata[ObjectAttributes.mtimeName] == nil,
      !Self.isSameTime(there.mtime, time)
    {
      missing.insert(.mtime)
    }
    if let mode = sent.mode, given.metadata[ObjectAttributes.modeName] == nil,
      there.mode != mode & 0o777
    {
      missing.insert(.mode)
    }
    if let tags = sent.tags, !tags.isEmpty, there.tagCount == 0 { missing.insert(.tags) }
    return missing
  }

  /// SFTP keeps whole seconds.
  static func isSameTime(_ there: Int64?, _ sent: Int64) -> Bool {
    there == sent || there == sent - sent % 1_000_000_000
  }

  private static func isSameType(_ one: String, _ other: String) -> Bool {
    func bare(_ type: String) -> String {
      (type.split(separator: ";").first ?? "").trimmed(\.isWhitespace).lowercased()
    }
    return bare(one) == bare(other)
  }

  private nonisolated(nonsending) func proveTags(_ kept: inout KeptAttributes) async throws {
    let sent = (source.request.preserved.tags ?? [:]).merging(source.request.given.tags) { $1 }
    if case .success(let there)? = try await scope.sink.tags(),
      sent.allSatisfy({ there[$0.key] == $0.value })
    {
      return
    }
    kept.preserved.remove(.tags)
    kept.lost.insert(.tags)
  }
}

extension Failure {
  /// The store knows nothing of what it was asked for, whatever the object.
  fileprivate var saysUnknown: Bool { httpStatus == 405 || isUnimplemented }
}
