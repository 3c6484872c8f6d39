package import JobModel

/// One report of the reports of all parts of a job, as one machine would have written it. The files are read twice, with
/// one transfer of each in memory: what the transfers refer to stands behind them.
package struct MergedReport: Report {
  /// A part's file, and what its own names for policies and capabilities lead to.
  private struct Part {
    var file: ReopenedFile
    var shard: Shard
    var policies: [String: Int]
    var abilities: [String: Int]
    /// By protocol and direction: the first capabilities of them. An ordinary transfer that names none has these.
    var firstAbilities: [String: Int]
  }

  private let parts: [Part]
  private let head: MergedHead
  private let causes: MergedCauses
  private let policies: MergedValues
  private let abilities: MergedValues
  private let shards: ShardSet
  private let blockSize: Int
  /// Longer plans are reported by what changed or did not complete, as by one machine.
  package var scopeLimit: Int64 = 100_000

  /// - Parameters:
  ///   - paths: of the parts' reports, in any order.
  ///   - isPartial: parts may be missing; the report says which.
  /// - Throws: `MergeFault`.
  package init(_ paths: [String], isPartial: Bool, toolVersion: String) throws(MergeFault) {
    blockSize = Self.blockSize(of: paths.count)
    var (head, causes) = (MergedHead(toolVersion: toolVersion), MergedCauses())
    var (policies, abilities) = (MergedValues(), MergedValues())
    var (shards, parts) = (ShardSet(isPartial: isPartial), [Part]())
    for path in paths {
      // That of a run which never began has no transfers.
      let report = try ShardReport(ReopenedFile(path), blockSize: blockSize) { causes.add($0, $1) }
      guard try shards.admit(report) else { continue }
      head.add(report)
      let names = abilities.add(report.head["capabilities"])
      let first = Capabilities.firstNames(in: report.head["capabilities"]).compactMapValues { names[$0] }
      parts.append(
        Part(
          file: report.file, shard: report.shard, policies: policies.add(report.head["policies"]),
          abilities: names, firstAbilities: first))
    }
    try shards.check()
    (self.head, self.causes, self.policies, self.abilities) = (head, causes, policies, abilities)
    (self.shards, self.parts) = (shards, parts)
  }

  /// Blocks of all files together take 8 MiB at the most, unless there are very many.
  private static func blockSize(of count: Int) -> Int {
    min(1 << 16, max(1 << 12, (8 << 20) / max(1, count)))
  }

  /// Some of the parts' reports do not list all transfers: what has every transfer of one machine has not here.
  package var isShortened: Bool { head.isShortened }

  package func lastSuccess() -> Double? { head.success(isMissing: !shards.missing.isEmpty) }

  /// Reports tell nothing of the runs before.
  package var knowsLastSuccess: Bool { lastSuccess() != nil }

  package func members() -> [JSON.Member] {
    head.members(causes: causes, shards: shards.json, missing: shards.diagnostic, scopeLimit: scopeLimit)
  }

  package func evidence() throws -> Evidence {
    var evidence = Evidence()
    for part in parts {
      var pieces = ReportPieces(part.file, blockSize: blockSize)
      while let transfer = try Self.transfer(&pieces) { evidence.add(transfer) }
    }
    return evidence
  }

  package func text(isColoured: Bool) -> String { MembersText(members(), isColoured: isColoured).text }

  package func transfers(_ extent: TransferExtent, _ body: (JSON) throws -> Void) throws -> [JSON.Member] {
    // Which ids a list had, or what had failed, is not known any more.
    let only = extent == .selected ? JSON.object(members())["selection"]["only"].string : nil
    let pattern = only.flatMap { try? IDPattern($0) }
    let listsChanges = extent == .listed && head.scope(limit: scopeLimit) == "changed"
    var (policyNames, abilityNames) = (SharedValues<Int>("p"), SharedValues<Int>("c"))
    var firstAbilities: [String: Int] = [:]
    try inOrder { transfer, part in
      guard pattern?.includes(transfer["id"].string ?? "") ?? true else { return }
      // As `TransferState.isNews`.
      if listsChanges, transfer["state"] == "up_to_date", transfer["reason"] == .null { return }
      var members = (transfer.members ?? []).filter { $0.name != "ordinal" && $0.name != "capabilities" }
      if let place = members.firstIndex(where: { $0.name == "policy" }),
        let number = members[place].value["ref"].string.flatMap({ part.policies[$0] })
      {
        let ref = JSON.string(policyNames.name(number))
        members[place].value = members[place].value.replacing("ref", by: ref)
      }
      let told = transfer.members?.first { $0.name == "capabilities" }?.value
      let number =
        told == nil
        ? part.firstAbilities[Capabilities.kind(transfer)] : told?.string.flatMap { part.abilities[$0] }
      if let number {
        let name = abilityNames.name(number)
        let kind = Capabilities.kind(abilities.values[number])
        let first = firstAbilities[kind] ?? number
        firstAbilities[kind] = first
        // As `TransferJSON`: an ordinary transfer, which leaves its attempts out, does not name the first.
        let isOrdinary = !members.contains { $0.name == "attempts" }
        if !isOrdinary || first != number || abilities.values[number]["url"] != .null || extent.isWhole {
          let place = members.firstIndex { $0.name == "policy" } ?? members.endIndex - 1
          members.insert(.init("capabilities", .string(name)), at: place + 1)
        }
      } else if let told {
        members.append(.init("capabilities", told))
      }
      let merged = JSON.object(members)
      guard extent.isWhole else { return try body(merged) }
      let ability = number.map { abilities.values[$0] } ?? .null
      try body(AbsentMembers.added(to: merged, capabilities: nil, ability))
    }
    return [
      .init("policies", policyNames.json(policies.json)),
      .init("capabilities", abilityNames.json(abilities.json)),
    ]
  }

  /// Gives the transfers of all parts in the plan's order, as far as each report is in that.
  private func inOrder(_ body: (JSON, Part) throws -> Void) throws {
    var sources = parts.map {
      (part: $0, pieces: ReportPieces($0.file, blockSize: blockSize), last: Int64(0))
    }
    var queue = MergeQueue<(source: Int, transfer: JSON)>()
    func read(_ source: Int) throws {
      guard let transfer = try Self.transfer(&sources[source].pieces) else { return }
      // What has no place of its own stands behind the one before it.
      let ordinal = transfer["ordinal"].int64 ?? sources[source].last
      sources[source].last = ordinal
      queue.insert((source, transfer), at: .init(ordinal: ordinal, shard: sources[source].part.shard.index))
    }
    for source in sources.indices { try read(source) }
    while let next = queue.popFirst() {
      try body(next.transfer, sources[next.source].part)
      try read(next.source)
    }
  }

  private static func transfer(_ pieces: inout ReportPieces) throws -> JSON? {
    while let piece = try pieces.next() {
      guard case .transfer(let bytes) = piece else { continue }
      guard let transfer = JSON(bytes), transfer.members != nil else {
        throw pieces.fault("a transfer in it is not a JSON object")
      }
      return transfer
    }
    return nil
  }
}
