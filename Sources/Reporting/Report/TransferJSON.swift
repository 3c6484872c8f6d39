import Endpoints
import JobLedger
import JobModel

/// Where a transfer's bytes go over the wire: the protocol's word, and its URL where it can be told.
package typealias WirePlace = (protocol: String, url: String?)

/// Writes the transfers of a report, a line each, and gathers what they refer to.
///
/// An ordinary transfer, which is one that ended well, in one chunk and at the first try, leaves out what is null, 0 or
/// empty, and what is said elsewhere: that makes 20,000 of them 10 MB rather than 20.
struct TransferJSON {
  let describe: (LedgerTransfer) -> WirePlace
  let capabilities: (LedgerTransfer) -> Capabilities?
  let resumesAt: (TransferState, EffectivePolicy) -> Double?
  /// When the run before this one began: what came into the plan since is new in this one.
  let newSince: Double?
  /// Stands for `created_at` where an older haul did not record it.
  let createdAt: Double?
  /// Leaves nothing out, of ordinary transfers either.
  let isComplete: Bool
  /// Requests at a time that `connections: auto` came to, by origin.
  let concurrency: [String: Int]
  /// Those of them that were asked under a policy, by its name here.
  private var asked: [String: Set<String>] = [:]
  private(set) var policies = SharedValues<EffectivePolicy>("p")
  private(set) var abilities = SharedValues<Capabilities>("c")
  /// By protocol and direction: the first capabilities of them. An ordinary transfer that names none has these.
  private var firstAbilities: [String: String] = [:]
  /// By profile: hashing a policy costs more than finding a number.
  private var policyNames: [Int64: String] = [:]

  init(
    describe: @escaping (LedgerTransfer) -> WirePlace,
    capabilities: @escaping (LedgerTransfer) -> Capabilities?,
    resumesAt: @escaping (TransferState, EffectivePolicy) -> Double?, newSince: Double?, createdAt: Double?,
    isComplete: Bool = false, concurrency: [String: Int] = [:]
  ) {
    self.describe = describe
    self.capabilities = capabilities
    self.resumesAt = resumesAt
    self.newSince = newSince
    self.createdAt = createdAt
    self.isComplete = isComplete
    self.concurrency = concurrency
  }

  mutating func line(_ transfer: LedgerTransfer) -> JSON {
    let isOrdinary = isOrdinary(transfer)
    let members = members(transfer, isOrdinary: isOrdinary)
    // A size of 0 is known all the same.
    return .object(
      isOrdinary ? members.filter { !Self.saysNothing($0.value) || $0.name == "size" } : members)
  }

  private func isOrdinary(_ transfer: LedgerTransfer) -> Bool {
    guard !isComplete else { return false }
    let progress = transfer.progress
    switch transfer.state {
    case .completed, .upToDate: break
    case .queued, .running, .paused, .failed, .canceled, .skipped: return false
    }
    switch progress.sessionState {
    case .none, .closed: break
    case .open, .finalizing: return false
    }
    return progress.chunksTotal <= 1 && progress.retries == 0 && progress.attempts <= 1
      && progress.discarded == 0 && progress.maxChunkAttempts <= 1
      && transfer.standingFailure == nil && (200...206).contains(progress.lastHTTPStatus ?? 200)
  }

  private static func saysNothing(_ value: JSON) -> Bool {
    switch value {
    case .null, .integer(0), .array([]), .object([]): true
    case .bool, .integer, .number, .exact, .string, .array, .object: false
    }
  }

  private mutating func members(_ transfer: LedgerTransfer, isOrdinary: Bool) -> [JSON.Member] {
    let progress = transfer.progress
    let wire = describe(transfer)
    let source = Masking.place(transfer.source)
    let destination = transfer.plannedPath ?? Masking.place(transfer.destination)
    var url = wire.url.map(Masking.withoutQuery)
    let ability = ability(transfer, &url, isOrdinary: isOrdinary)
    let moved = progress.transferred > 0 || transfer.state == .completed
    func told(_ value: JSON, unless isSaid: Bool = true) -> JSON { isOrdinary && isSaid ? .null : value }
    var members: [JSON.Member] = []
    func add(_ name: String, _ value: JSON) { members.append(.init(name, value)) }
    add("id", .string(transfer.id))
    if let ordinal = transfer.ordinal { add("ordinal", .integer(ordinal)) }
    add("direction", .string(transfer.settings.direction.rawValue))
    add("state", .string(transfer.state.word))
    add("reason", .text(transfer.state.reason))
    if let time = resumesAt(transfer.state, transfer.settings.policy) {
      add("resumes_at", CommonJSON.time(time))
    }
    let session = JSON.string(progress.isAttaching ? "attaching" : progress.sessionState.rawValue)
    add("session", told(session, unless: session == "none"))
    add("source", .string(source))
    add("destination", .string(destination))
    let isSaid =
      url.map { $0 == Masking.withoutQuery(source) || $0 == Masking.withoutQuery(destination) } ?? false
    add("url", told(.text(url), unless: isSaid))
    add("protocol", .string(wire.protocol))
    add("remote_id", CommonJSON.masked(progress.remoteID))
    add("version", .text(progress.remote.version))
    // A digest says more than the ETag of a server that knows no versions.
    let isReplaced = EndpointRegistry.kind(wire.protocol)?.abilities.digestsReplaceETags == true
    let isKnownByDigest = isReplaced && !progress.digests.isEmpty
    add("etag", told(.text(progress.remote.etag), unless: isKnownByDigest))
    let type = contentType(transfer)
    add("content_type", told(.text(type), unless: type == "application/octet-stream"))
    add("size", .int(progress.size ?? transfer.knownSize))
    add("chunk_size", told(.int(chunkSize(transfer))))
    add("chunks", told(chunks(progress)))
    add("contiguous_bytes", told(.integer(progress.contiguousBytes)))
    add("bytes", bytes(progress))
    add("digests", digests(progress.digests))
    add("verification", .array(checks(transfer, isOrdinary: isOrdinary).map(verification)))
    // What goes along is decided before a byte does.
    add("preserved", words(progress.completedAt == nil ? [] : progress.attributes.preserved))
    add("lost", words(progress.attributes.lost))
    if transfer.settings.direction == .copy {
      add("copied_by", .text(progress.copiedBy?.rawValue))
      if let object = progress.sourceObject { add("source_facts", sourceFacts(object)) }
    }
    if let attach = progress.attach { add("attached", Self.attached(attach)) }
    add("moved_because", .text(progress.movedBecause?.rawValue))
    add("policy", policy(transfer, wire.url))
    let reference = ability.map { name($0) }
    let isSaidByAbsence = reference?.isFirst == true && ability?.url == nil
    add("capabilities", told(.text(reference?.name), unless: isSaidByAbsence))
    add("attempts", told(.int(progress.attempts)))
    add("retries", .int(progress.retries))
    add("requests", .int(progress.requests))
    add("max_chunk_attempts", told(.int(progress.maxChunkAttempts)))
    add("last_http_status", told(.int(progress.lastHTTPStatus)))
    let isNew = isOrdinary && transfer.createdAt.map { $0 > newSince ?? 0 } ?? false
    add("created_at", isNew ? .null : CommonJSON.time(transfer.createdAt ?? createdAt))
    add("updated_at", told(CommonJSON.time(progress.updatedAt)))
    add("started_at", told(CommonJSON.time(progress.startedAt)))
    add("ended_at", told(CommonJSON.time(progress.endedAt), unless: !moved))
    let isBrief = isOrdinary && (!moved || progress.duration < 0.1)
    add("duration_s", .double(progress.startedAt == nil || isBrief ? nil : progress.duration))
    add("error", transfer.standingFailure.map { CommonJSON.error($0, at: progress.failedAt) } ?? .null)
    return members
  }

  /// The capabilities, with what the URL begins with; the URL is left out where its place's path is all that follows.
  private func ability(
    _ transfer: LedgerTransfer, _ url: inout String?, isOrdinary: Bool
  ) -> Capabilities? {
    guard var ability = capabilities(transfer) else { return nil }
    let place = transfer.remote
    if let whole = url?.utf8, case .remote(_, let path) = place, !path.isEmpty,
      whole.suffix(path.utf8.count).elementsEqual(path.utf8)
    {
      ability.url = String(Substring(whole.dropLast(path.utf8.count)))
      if isOrdinary { url = nil }
    }
    return ability
  }

  private mutating func name(_ ability: Capabilities) -> (name: String, isFirst: Bool) {
    let name = abilities.name(ability)
    let kind = ability.protocolName + " " + ability.direction.rawValue
    if let first = firstAbilities[kind] { return (name, first == name) }
    firstAbilities[kind] = name
    return (name, true)
  }

  /// What the server said, the manifest asks for, or haul chose by the source's extension.
  private func contentType(_ transfer: LedgerTransfer) -> String? {
    if let known = transfer.progress.remote.contentType ?? transfer.settings.contentType { return known }
    if let object = transfer.progress.sourceObject {
      let isKept = transfer.settings.preserve.asks(for: .contentType)
      return isKept ? object.contentType : ContentTypes.of(transfer.source.text)
    }
    guard transfer.settings.direction == .upload, case .local(let path) = transfer.source else { return nil }
    return ContentTypes.of(path)
  }

  /// The size that is in use; nil where it is another one than was asked for, and nobody has kept it.
  private func chunkSize(_ transfer: LedgerTransfer) -> Int64? {
    let progress = transfer.progress
    if let session = progress.session, session.chunkSize > 0 { return session.chunkSize }
    let size = progress.size ?? transfer.knownSize
    if size == nil, transfer.settings.chunkSize == .auto { return nil }
    let used =
      progress.chunkSize ?? transfer.settings.chunkSize.bytes(of: size, chosen: progress.automaticChunk)
    guard let size, progress.chunksTotal > 0 else { return used }
    return [used, progress.automaticChunk].compactMap(\.self)
      .first { ChunkLayout(size: size, chunkSize: $0).count == progress.chunksTotal }
  }

  private func chunks(_ progress: TransferProgress) -> JSON {
    // Nobody knows how many before the size is known.
    let isKnown = progress.chunksTotal > 0 || progress.size != nil
    return [
      "total": isKnown ? .int(progress.chunksTotal) : .null, "completed": .int(progress.chunksCompleted),
      "reused": .int(progress.chunksReused),
    ]
  }

  private func bytes(_ progress: TransferProgress) -> JSON {
    [
      "transferred": .integer(progress.transferred), "reused": .integer(progress.reused),
      "discarded": .integer(progress.discarded),
    ]
  }

  private func digests(_ digests: [DigestAlgorithm: String]) -> JSON {
    .object(
      DigestAlgorithm.allCases.compactMap { algorithm in
        digests[algorithm].map { .init(algorithm.rawValue, .string($0)) }
      })
  }

  private func words(_ attributes: Set<Attribute>) -> JSON {
    .array(attributes.inOrder.map { .string($0.rawValue) })
  }

  /// What came of the request that ties the file to its record.
  private static func attached(_ record: AttachRecord) -> JSON {
    [
      "state": .string(record.state.rawValue), "status": .int(record.status),
      "at": CommonJSON.time(record.at), "key": .string(record.key), "tries": .int(record.tries),
    ]
  }

  /// What the source of a copy says of itself.
  private func sourceFacts(_ object: RemoteObject) -> JSON {
    ["version": .text(object.version), "etag": .text(object.etag), "digests": digests(object.digests)]
  }

  /// Of an ordinary download, what was compared: where a digest matched, not also the size that the server told.
  private func checks(_ transfer: LedgerTransfer, isOrdinary: Bool) -> [Verification] {
    let all = transfer.progress.verification
    guard isOrdinary, transfer.settings.direction == .download else { return all }
    let isProved = all.contains(where: \.proves)
    return all.filter { check in
      check.result != .unavailable && !(isProved && check == Verification("size", .server, .match))
    }
  }

  private func verification(_ check: Verification) -> JSON {
    [
      "check": .string(check.check), "against": .string(check.against.rawValue),
      "result": .string(check.result.rawValue),
    ]
  }

  /// What `connections: auto` came to under a policy, by origin.
  func found(under policy: String) -> [String: Int] {
    concurrency.filter { asked[policy]?.contains($0.key) ?? false }
  }

  private mutating func policy(_ transfer: LedgerTransfer, _ url: String?) -> JSON {
    let ref: String
    if let known = policyNames[transfer.profile] {
      ref = known
    } else {
      ref = policies.name(transfer.settings.policy.masked)
      // Plans whose every transfer has a profile of its own must not fill the memory.
      if policyNames.count >= 256 { policyNames.removeAll() }
      policyNames[transfer.profile] = ref
    }
    if !concurrency.isEmpty, asked[ref]?.count != concurrency.count, let url,
      let origin = WebURL(endpoint: url)?.origin, concurrency[origin] != nil
    {
      asked[ref, default: []].insert(origin)
    }
    guard let name = transfer.settings.policyName else { return ["ref": .string(ref)] }
    return ["name": .string(name), "ref": .string(ref)]
  }
}
