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

  private func ends(of attributes: ObjectAttributes) -> AttributePlan.Ends {
    var tells = source.copy == nil ? LocalAttributes.tells : abilities(record.transfer.source).tells
    if let copy = source.copy, scope.context.uploads.tagging.isUntold(in: copy.origin.source.origin) {
      tells.remove(.tags)
    }
    return AttributePlan.Ends(
      tells: tells, keeps: destination.keeps(of: attributes), areRemote: source.copy != nil)
  }

  /// Decides what is sent, and notes what is not.
  ///
  /// - Throws: `ATTRIBUTES_LOST` where that can be told already.
  nonisolated(nonsending) func decide() async throws {
    guard rule != .none else { return record.note(.attributes(KeptAttributes())) }
    // What its session was opened without can't be said any more.
    let before = record.progress.session == nil ? [] : record.progress.attributes.lost
    let (told, hasType) = (try await told(), source.sendsSourceType)
    let hasTime = rule.named[.mtime] != nil && source.copy?.object.lastModified != nil
    let plan = AttributePlan(
      rule, ends(of: told), of: told, hasType: hasType, hidesTime: hasTime && told.mtime == nil,
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
    if rule.asks(for: .tags), from.tells.contains(.tags), attributes.tags == nil, attributes.tagCount != 0 {
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
    // Where nobody keeps them, they count as lost: asking each object whether it has some would double a small copy's requests.
    guard destination.keeps.contains(.tags) || rule.demands(.tags) else { return nil }
    let tags = try await copy.origin.source.tags(of: copy.object)
    record.count(copy.origin.requester.takeTally())
    switch tags {
    case nil: return [:]
    case .success(let tags): return tags
    case .failure(let failure):
      if failure.saysUnknown {
        if known.note(untoldIn: origin), failure.code == .protocolViolation {
          record.warn("the source's store tells no tags, and none go along: \(failure.message)")
        }
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
    noteLost([.tags])
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
    // Nearly all uploads: no more than a type goes along.
    if rule.isImplied, scope.sink.refusedAttributes.isEmpty { return proveType(seen) }
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
    let told = sent.filter { kept.preserved.intersection(destination.tells).contains($0.attribute) }
    let (stores, origin) = (scope.context.uploads.keeping, scope.sink.origin)
    // The first object that has a field tells whether the store keeps it; of an upload's type nobody asked.
    if found == nil, !rule.isImplied, stores.isUnknown(told, at: origin) {
      found = await glance(told)
    } else if !rule.isImplied, !demanded.contains(.tags), told.contains(.tags), var object = found,
      object.attributes.tagCount == nil
    {
      // It was looked at for its bytes' sake, and no number tells of tags.
      if stores.isUnknown([.tags], at: origin) { await countTags(of: &object) }
      found = object
      lose(Set(stores.dropped(of: [.tags], at: origin).map(\.attribute)))
    }
    if let found {
      lose(Set(missing(in: found).map(\.attribute)).intersection(destination.tells))
      if demanded.contains(.tags), found.attributes.tagCount == nil { try await proveTags(&kept) }
      // Tags that no number tells were not looked for. Another client may have replaced it.
      let looked = found.attributes.tagCount == nil ? told.subtracting([.tags]) : told
      if found.size == source.request.size { stores.note(looked, dropped: dropped(from: found), at: origin) }
    } else {
      lose(Set(stores.dropped(of: told, at: origin).map(\.attribute)))
    }
    record.note(.attributes(kept))
    try AttributePlan.check(kept.lost, rule, "\(scope.sink.place) took the file, and dropped")
  }

  /// Compares what the destination tells of an object that is there already with what would be sent, and notes what it has
  /// and lacks.
  ///
  /// - Returns: whether it has what the manifest itself gives the object, and the attributes that may not be lost.
  /// - Throws: `ATTRIBUTES_LOST` where one can't go along at all.
  nonisolated(nonsending) func adopt(_ found: RemoteObject) async throws -> Bool {
    guard try await hasGiven(found) else { return false }
    try await decide()
    var kept = record.progress.attributes
    // What is not told of it is not claimed.
    var lacking = Set(missing(in: found).map(\.attribute)).union(
      kept.preserved.subtracting(destination.tells))
    if found.contentType == nil { lacking.insert(.contentType) }
    if kept.preserved.contains(.tags), !lacking.contains(.tags), try await !hasTags(sentTags) {
      lacking.insert(.tags)
    }
    lacking.formIntersection(kept.preserved)
    guard lacking.isDisjoint(with: rule.demanded) else {
      record.note(.attributes(KeptAttributes()))
      return false
    }
    kept.preserved.subtract(lacking)
    if !rule.isImplied { kept.lost.formUnion(lacking) }
    record.note(.attributes(kept))
    return true
  }

  /// Of a file's time and mode, those that an earlier attempt told of: they went along, or were lost.
  var followed: Set<Attribute> {
    let kept = record.progress.attributes
    return kept.preserved.union(kept.lost).intersection([.mtime, .mode]).intersection(destination.keeps)
      .filter { rule.asks(for: $0) }
  }

  /// Compares the time and the mode that the file has now with those at the destination, where its bytes still stand, and
  /// notes which of them it has.
  ///
  /// - Returns: false where one is another that may not be lost: the file is to be moved again.
  func follow(_ there: ObjectAttributes) throws -> Bool {
    let followed = followed
    let lacking = Set(missing(of: try source.localAttributes(), in: there).map(\.attribute))
      .intersection(followed)
    guard lacking.isDisjoint(with: rule.demanded) else { return false }
    var kept = record.progress.attributes
    kept.preserved.formUnion(followed)
    kept.lost.subtract(followed)
    kept.preserved.subtract(lacking)
    if !rule.isImplied { kept.lost.formUnion(lacking) }
    record.note(.attributes(kept))
    return true
  }

  /// What stands there has what the manifest itself gives the object, as far as that is told.
  private nonisolated(nonsending) func hasGiven(_ found: RemoteObject) async throws -> Bool {
    let (given, takes, there) = (source.request.given, destination.takes, found.attributes)
    if let wanted = scope.settings.contentType, let type = found.contentType,
      destination.tells.contains(.contentType), !Self.isSameType(type, wanted)
    {
      return false
    }
    if takes.contains(.metadata), given.metadata.contains(where: { there.metadata[$0.key] != $0.value }) {
      return false
    }
    // S3 tells no class of an object in the standard one.
    if takes.contains(.storageClass), let wanted = given.storageClass,
      wanted != there.storageClass ?? "STANDARD"
    {
      return false
    }
    guard takes.contains(.tags), !given.tags.isEmpty else { return true }
    return try await hasTags(given.tags)
  }

  /// Notes that the content type was not kept where the destination tells of another one.
  ///
  /// - Parameter seen: as of `prove`.
  private func proveType(_ seen: RemoteObject?) {
    guard let type = seen?.contentType, destination.tells.contains(.contentType),
      !Self.isSameType(type, source.request.contentType)
    else { return }
    var kept = record.progress.attributes
    kept.preserved.remove(.contentType)
    record.note(.attributes(kept))
  }

  /// What stands there now, tags included; nil where that is not told. What fails here fails no transfer, and is not tried again.
  private nonisolated(nonsending) func glance(_ fields: Set<KeepingStores.Field>) async -> RemoteObject? {
    do {
      let look = try await scope.sink.look(.once)
      guard case .object(var object, _)? = look else {
        switch look {
        // Asked at a bad moment: the next object tells.
        case .nothing?, .failed?: break
        default: scope.context.uploads.keeping.note(fields, dropped: [], at: scope.sink.origin)
        }
        return nil
      }
      if fields.contains(.tags), object.attributes.tagCount == nil { await countTags(of: &object) }
      return object
    } catch { return nil }
  }

  /// Asks how many tags stand there now, where that is told; nothing where it is asked at a bad moment.
  private nonisolated(nonsending) func countTags(of object: inout RemoteObject) async {
    let answer: Result<[String: String], Failure>?
    do { answer = try await scope.sink.tags() } catch { return }
    switch answer {
    case .success(let tags)?: object.attributes.tagCount = tags.count
    case .failure(let failure)? where failure.saysUnknown || failure.code == .protocolViolation:
      object.attributes.tagCount = 0
    case .failure(let failure)? where failure.code.isRetryable: break
    // It tells no tags: each object would be asked for in vain.
    default: scope.context.uploads.keeping.note([.tags], dropped: [], at: scope.sink.origin)
    }
  }

  /// What was sent besides the bytes.
  private var sent: Set<KeepingStores.Field> {
    let (attributes, given) = (source.request.preserved, source.request.given)
    var fields = Set(attributes.headers.keys.map(KeepingStores.Field.header))
    if !metadata.isEmpty { fields.insert(.metadata) }
    if attributes.mtime != nil, given.metadata[ObjectAttributes.mtimeName] == nil { fields.insert(.mtime) }
    if attributes.mode != nil, given.metadata[ObjectAttributes.modeName] == nil { fields.insert(.mode) }
    if attributes.tags?.isEmpty == false { fields.insert(.tags) }
    return fields
  }

  /// The metadata that was sent, without what goes along as the time or the mode.
  private var metadata: [String: String] {
    var metadata = source.request.preserved.metadata.merging(source.request.given.metadata) { $1 }
    for (name, attribute) in [
      (ObjectAttributes.mtimeName, Attribute.mtime), (ObjectAttributes.modeName, .mode),
    ]
    where rule.asks(for: attribute) { metadata[name] = nil }
    return metadata
  }

  /// Fields that were sent and of which nothing is there; another value says nothing of other objects.
  private func dropped(from found: RemoteObject) -> Set<KeepingStores.Field> {
    let there = found.attributes
    return missing(in: found).filter { field in
      switch field {
      case .contentType: false
      case .header(let name): there.headers[name] == nil
      case .metadata: metadata.keys.allSatisfy { there.metadata[$0] == nil }
      case .mtime: there.mtime == nil
      case .mode: there.mode == nil
      case .tags: true
      }
    }
  }

  /// What was sent and is not told of what stands there now, as far as one look tells it.
  private func missing(in found: RemoteObject) -> Set<KeepingStores.Field> {
    let (sent, there) = (source.request.preserved, found.attributes)
    var missing = missing(of: sent, in: there)
    if let type = found.contentType, !Self.isSameType(type, source.request.contentType) {
      missing.insert(.contentType)
    }
    for (name, value) in sent.headers where there.headers[name] != value { missing.insert(.header(name)) }
    if metadata.contains(where: { there.metadata[$0.key] != $0.value }) { missing.insert(.metadata) }
    if let tags = sent.tags, !tags.isEmpty, there.tagCount == 0 { missing.insert(.tags) }
    return missing
  }

  /// Of a file's time and mode.
  private func missing(of sent: ObjectAttributes, in there: ObjectAttributes) -> Set<KeepingStores.Field> {
    let given = source.request.given.metadata
    var missing: Set<KeepingStores.Field> = []
    if let time = sent.mtime, given[ObjectAttributes.mtimeName] == nil, !Self.isSameTime(there.mtime, time) {
      missing.insert(.mtime)
    }
    if let mode = sent.mode, given[ObjectAttributes.modeName] == nil, there.mode != mode & 0o777 {
      missing.insert(.mode)
    }
    return missing
  }

  /// SFTP keeps whole seconds.
  static func isSameTime(_ there: Int64?, _ sent: Int64) -> Bool {
    there == sent || there == sent - sent % 1_000_000_000
  }

  private static func isSameType(_ one: String, _ other: String) -> Bool {
    func bare(_ type: String) -> some Sequence<UInt8> {
      type.utf8.prefix { $0 != UInt8(ascii: ";") }.lazy.filter { $0 != 0x20 && $0 != 0x09 }
        .map { (0x41...0x5A).contains($0) ? $0 + 0x20 : $0 }
    }
    return bare(one).elementsEqual(bare(other))
  }

  private var sentTags: [String: String] {
    (source.request.preserved.tags ?? [:]).merging(source.request.given.tags) { $1 }
  }

  private nonisolated(nonsending) func hasTags(_ wanted: [String: String]) async throws -> Bool {
    guard case .success(let there)? = try await scope.sink.tags() else { return false }
    return wanted.allSatisfy { there[$0.key] == $0.value }
  }

  private nonisolated(nonsending) func proveTags(_ kept: inout KeptAttributes) async throws {
    guard try await !hasTags(sentTags) else { return }
    kept.preserved.remove(.tags)
    kept.lost.insert(.tags)
  }
}

extension Failure {
  /// The store knows nothing of what it was asked for, whatever the object.
  ///
  /// `rclone serve s3` knows no `?tagging`, and answers with the object.
  fileprivate var saysUnknown: Bool {
    httpStatus == 405 || isUnimplemented || code == .protocolViolation && httpStatus == 200
  }
}
