import JobModel

/// `TransferSettings` as the JSON of a profile: what the manifest says, with secrets as references only.
enum SettingsRow {
  static func write(_ settings: TransferSettings) -> String {
    var members: [JSON.Member] = [
      .init("direction", .string(settings.direction.rawValue)),
      .init("verify", .string(settings.verify.rawValue)),
      .init("refresh", .string(settings.refresh.rawValue)),
      .init("if_exists", .string(settings.ifExists.rawValue)),
      .init("snapshot", .string(settings.snapshot.rawValue)),
      .init("enabled", .bool(settings.isEnabled)),
      .init("allow_outside", .bool(settings.allowsOutside)),
      .init("keeps_source_time", .bool(settings.keepsSourceTime)),
      .init("needs", .array(settings.needs.map { .string($0) })),
      .init("headers", .array(settings.headers.map(PolicyJSON.header))),
      .init("policy", PolicyJSON.write(settings.policy)),
    ]
    switch settings.chunkSize {
    case .auto: members.append(.init("chunk_size", .string("auto")))
    case .bytes(let size): members.append(.init("chunk_size", .integer(size)))
    }
    if settings.policy.keepsChunksInFlight { members.append(.init("keeps_chunks_in_flight", .bool(true))) }
    if !settings.sourceHeaders.isEmpty {
      members.append(.init("source_headers", .array(settings.sourceHeaders.map(PolicyJSON.header))))
    }
    if let policy = settings.sourcePolicy { members.append(.init("source_policy", PolicyJSON.write(policy))) }
    if let mode = settings.mode { members.append(.init("mode", .integer(Int64(mode)))) }
    if let type = settings.contentType { members.append(.init("content_type", .string(type))) }
    if let obstacle = settings.obstacle { members.append(.init("obstacle", .string(obstacle.rawValue))) }
    if settings.preserve != .standard(settings.direction) {
      members.append(.init("preserve", .array(settings.preserve.words.map { .string($0) })))
    }
    let given = settings.given
    if !given.metadata.isEmpty { members.append(.init("metadata", .dictionary(given.metadata))) }
    if !given.tags.isEmpty { members.append(.init("tags", .dictionary(given.tags))) }
    if let name = given.storageClass { members.append(.init("storage_class", .string(name))) }
    if !given.written.isEmpty { members.append(.init("written", .dictionary(given.written))) }
    if let then = settings.then { members.append(.init("then", AttachJSON.write(then))) }
    if settings.hasOwnBudget { members.append(.init("has_own_budget", .bool(true))) }
    if let name = settings.policyName { members.append(.init("policy_name", .string(name))) }
    return JSON.object(members).text
  }

  static func read(_ text: String) -> TransferSettings {
    let json = JSONText(text)
    var settings = TransferSettings(
      direction: json.string("direction").flatMap(Verb.init(rawValue:)) ?? .download)
    settings.verify = json.string("verify").flatMap(VerifyLevel.init(rawValue:)) ?? .available
    settings.refresh = json.string("refresh").flatMap(RefreshRule.init(rawValue:)) ?? .changed
    settings.ifExists = json.string("if_exists").flatMap(ExistsRule.init(rawValue:)) ?? .fail
    settings.snapshot = json.string("snapshot").flatMap(SnapshotRule.init(rawValue:)) ?? .none
    settings.isEnabled = json.bool("enabled") ?? true
    settings.allowsOutside = json.bool("allow_outside") ?? false
    settings.keepsSourceTime = json.bool("keeps_source_time") ?? false
    settings.needs = json.strings("needs") ?? []
    settings.headers = (json.objects("headers") ?? []).compactMap(PolicyJSON.readHeader)
    settings.sourceHeaders = (json.objects("source_headers") ?? []).compactMap(PolicyJSON.readHeader)
    settings.sourcePolicy = json.object("source_policy").map(PolicyJSON.read)
    settings.policy = json.object("policy").map(PolicyJSON.read) ?? EffectivePolicy()
    settings.chunkSize = json.int64("chunk_size").map(ChunkSize.bytes) ?? .auto
    settings.policy.keepsChunksInFlight = json.bool("keeps_chunks_in_flight") ?? false
    settings.mode = json.int("mode").flatMap { UInt16(exactly: $0) }
    settings.contentType = json.string("content_type")
    settings.obstacle = json.string("obstacle").flatMap(PlacementObstacle.init(rawValue:))
    if let words = json.strings("preserve"), let rule = try? PreserveRule(words) { settings.preserve = rule }
    settings.given.metadata = json.dictionary("metadata") ?? [:]
    settings.given.tags = json.dictionary("tags") ?? [:]
    settings.given.storageClass = json.string("storage_class")
    settings.given.written = json.dictionary("written") ?? [:]
    settings.then = json.object("then").flatMap(AttachJSON.read)
    settings.policyName = json.string("policy_name")
    settings.hasOwnBudget = json.bool("has_own_budget") ?? false
    return settings
  }
}
