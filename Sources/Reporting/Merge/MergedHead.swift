import JobLedger
import JobModel

/// The members of several reports but for the transfers, as of one; the order in which they come does not matter.
struct MergedHead {
  private let toolVersion: String
  private var first: (shard: Shard, job: JSON, selection: JSON)?
  private var states: Set<String> = []
  private var run = MergedRun()
  private(set) var totals = MergedTotals()
  private var selected = MergedTotals()
  /// Ids of the list of `--only-from` that a part has.
  private var found: Int64 = 0
  private var bandwidths: [JSON] = []
  private var hosts: [(shard: Int, list: [JSON])] = []
  /// The first part that said each, and where it stands there: all parts say much alike, and are not kept for that.
  private var diagnostics: [JSON: (shard: Int, index: Int)] = [:]
  private var notices: [(shard: Int, list: [JSON])] = []
  private var left: [(shard: Int, list: [JSON])] = []
  private var leftCount: Int64 = 0
  private var scopes: Set<String> = []

  /// Ids that a report names of those that left the manifest.
  private static let leftNamed = 100

  init(toolVersion: String) { self.toolVersion = toolVersion }

  mutating func add(_ report: ShardReport) {
    let (head, shard) = (report.head, report.shard)
    if first.map({ shard < $0.shard }) ?? true { first = (shard, head["job"], head["selection"]) }
    if let state = head["job"]["state"].string { states.insert(state) }
    run.add(head["run"], shard)
    totals.add(head["totals"])
    selected.add(head["selection"]["totals"])
    found = found.adding(clamping: max(0, head["selection"]["list"]["found"].int64 ?? 0))
    bandwidths.append(head["job"]["bandwidth"])
    hosts.append((shard.index, head["job"]["hosts"].array ?? []))
    for (index, one) in (head["diagnostics"].array ?? []).enumerated() {
      let place = (shard: shard.index, index: index)
      if let known = diagnostics[one], known < place { continue }
      diagnostics[one] = place
    }
    notices.append((shard.index, head["notices"].array ?? []))
    left.append((shard.index, head["left_manifest"]["ids"].array ?? []))
    leftCount = leftCount.adding(clamping: max(0, head["left_manifest"]["count"].int64 ?? 0))
    if let scope = head["transfers_scope"].string { scopes.insert(scope) }
  }

  /// - Parameters:
  ///   - shards: what is said of them in `run`.
  ///   - missing: the diagnostic for those that are not among the reports; nil where none is missing.
  ///   - limit: longer plans are reported by what changed or did not complete.
  func members(causes: MergedCauses, shards: JSON, missing: JSON?, scopeLimit limit: Int64) -> [JSON.Member] {
    [
      .init("schema", .string("haul.report/v1")), .init("tool", CommonJSON.tool(toolVersion)),
      .init("job", job(isMissing: missing != nil)),
      .init("run", run.json(end(isMissing: missing != nil), shards: shards)),
      .init("totals", totals.json),
      .init(
        "diagnostics",
        .array([missing, nothingSelected(isMissing: missing != nil)].compactMap(\.self) + told)),
      .init("notices", .array(inOrder(notices))), .init("causes", causes.json),
      .init(
        "left_manifest",
        ["count": .integer(leftCount), "ids": .array(Array(inOrder(left).prefix(Self.leftNamed)))]),
      .init("selection", selection), .init("transfers_scope", .string(scope(limit: limit))),
    ]
  }

  /// When the last part ended, where all ended with 0 and were asked for the whole job.
  func success(isMissing: Bool) -> Double? {
    guard first?.selection == JSON.null, end(isMissing: isMissing).status == .success else { return nil }
    return run.endedAt
  }

  /// One machine does not begin a run of a pattern that matches nothing. A list may have been empty, which it does run.
  private func end(isMissing: Bool) -> (outcome: RunOutcome?, status: ExitStatus) {
    let end = run.end(totals, isMissing: isMissing)
    let isRefused = isNothingSelected(isMissing: isMissing) && first?.selection["kind"] == "only"
    return isRefused || end.status == .success && unknownIDs(isMissing: isMissing) > 0
      ? (.failed, .noInput) : end
  }

  /// Ids of the list of `--only-from` that no part has: one machine does not begin for them, and no part could know alone.
  private func unknownIDs(isMissing: Bool) -> Int64 {
    isMissing ? 0 : max(0, max(0, first?.selection["list"]["ids"].int64 ?? 0) - found)
  }

  private func isNothingSelected(isMissing: Bool) -> Bool {
    !isMissing && first.map { $0.selection != .null } ?? false && selected["transfers"] == 0
  }

  private func job(isMissing: Bool) -> JSON {
    let job = first?.job ?? .null
    // What one machine would say: the first that applies.
    var state = ["running", "failed", "paused", "queued", "completed"].first(where: states.contains)
    if isMissing, state == "completed" { state = "queued" }
    let members = (job.members ?? []).map { member -> JSON.Member in
      switch member.name {
      case "state": .init("state", .text(state))
      case "bandwidth": .init("bandwidth", bandwidth)
      case "limits": .init("limits", MergedValues.undivided(member.value))
      case "hosts": .init("hosts", .array(distinct(hosts)))
      default: member
      }
    }
    return .object(members)
  }

  /// What `haul limit` gave to all parts together; null where one of them keeps to its policies.
  private var bandwidth: JSON {
    guard bandwidths.allSatisfy({ $0.members != nil }) else { return .null }
    func sum(_ name: String) -> JSON {
      bandwidths.reduce(.integer(0)) { sum, one in
        guard let all = sum.int64, let bytes = one[name].int64 else { return .string("unlimited") }
        return .integer(all.adding(clamping: bytes))
      }
    }
    return ["download": sum("download"), "upload": sum("upload")]
  }

  private var selection: JSON {
    guard let selection = first?.selection, selection != .null else { return .null }
    let list = selection["list"].replacing("found", by: .integer(found))
    return selection.replacing("totals", by: selected.json).replacing("list", by: list)
  }

  /// Which transfers are listed: as many as each part lists, and as one machine would of a plan of this length.
  func scope(limit: Int64) -> String {
    ["incomplete", "changed"].first(where: scopes.contains)
      ?? (totals["transfers"] > limit ? "changed" : "all")
  }

  /// Some of the reports do not list all transfers of their parts.
  var isShortened: Bool { !scopes.isSubset(of: ["all"]) }

  /// What was asked for is of no part: one machine would have refused it, and no part could know alone.
  private func nothingSelected(isMissing: Bool) -> JSON? {
    let unknown = unknownIDs(isMissing: isMissing)
    guard unknown == 0 else {
      let words = unknown == 1 ? "1 of its ids is" : "\(unknown) of its ids are"
      return CommonJSON.diagnostic(
        RecordedDiagnostic(
          Diagnostic(
            .error, "`--only-from`: \(words) no transfer of any shard",
            hint: "`haul plan --all` lists the ids")))
    }
    guard isNothingSelected(isMissing: isMissing), let selection = first?.selection,
      let option = ["only": "--only", "only_from": "--only-from"][selection["kind"].string ?? ""]
    else { return nil }
    let asked = selection["only"].string.map { "\(option) \($0)" } ?? option
    return CommonJSON.diagnostic(
      RecordedDiagnostic(
        Diagnostic(
          option == "--only" ? .error : .warning, "`\(asked)` matches no transfer of any shard",
          hint: "`haul plan --all` lists the ids; a glob's `*` stops at a `/`, `**` does not")))
  }

  private var told: [JSON] { diagnostics.sorted { $0.value < $1.value }.map(\.key) }

  private func inOrder(_ lists: [(shard: Int, list: [JSON])]) -> [JSON] {
    lists.sorted { $0.shard < $1.shard }.flatMap(\.list)
  }

  private func distinct(_ lists: [(shard: Int, list: [JSON])]) -> [JSON] {
    var known: Set<JSON> = []
    return inOrder(lists).filter { known.insert($0).inserted }
  }
}
