import JobLedger
import JobModel

/// The parts whose reports are merged: whether they belong together, and which are missing.
struct ShardSet {
  private let isPartial: Bool
  /// What all must say alike, by its name in messages, and the file that said it first.
  private var common: (path: String, facts: [(name: String, value: JSON)], count: Int)?
  /// What was compiled beside the manifest, where a report tells it: those of earlier versions do not.
  private var inputs: (path: String, value: JSON)?
  private var paths: [Int: String] = [:]
  /// Transfers of all parts: their places in the plan of the whole job, as far as they are listed, and how many there are.
  private var places = PlanPlaces()
  private var total: Int64 = 0
  /// The report that has the highest place.
  private var highest = ""
  /// By how many transfers the whole job has: the first report of a part that planned so many.
  private var plans: [Int64: String] = [:]

  init(isPartial: Bool) { self.isPartial = isPartial }

  /// - Returns: false for the report of a run that never began, or lost its state, where parts may be missing.
  mutating func admit(_ report: ShardReport) throws(MergeFault) -> Bool {
    let (head, shard, path) = (report.head, report.shard, report.file.path)
    // It may have ended before it knew what it was asked for.
    guard head["run"]["number"].int64 != nil else {
      if isPartial { return false }
      throw MergeFault(
        .mismatch,
        "`\(path)` is the report of a run that never began (\(Self.words(head["run"]["outcome"])))",
        hint: "run shard \(shard.text) again, or give `--partial`")
    }
    guard head["job"]["state"] != .null else {
      if isPartial { return false }
      throw MergeFault(
        .mismatch, "`\(path)` is the report of a run whose state was lost: it tells nothing of its transfers",
        hint: "run shard \(shard.text) again, or give `--partial`")
    }
    let facts: [(name: String, value: JSON)] = [
      ("job", head["job"]["name"]), ("manifest's SHA-256", head["job"]["manifest_sha256"]),
      ("number of shards", .int(shard.count)), ("kind of selection", head["selection"]["kind"]),
      ("selection", head["selection"]["only"]),
      ("SHA-256 of the list of `--only-from`", head["selection"]["list"]["sha256"]),
    ]
    if let common {
      for (one, other) in zip(common.facts, facts) where one.value != other.value {
        throw MergeFault(
          .mismatch,
          "`\(path)` and `\(common.path)` do not belong together: the \(one.name) is \(Self.words(other.value)) and \(Self.words(one.value))",
          hint: "merge reports of one job, one manifest and one number of shards")
      }
    } else {
      common = (path, facts, shard.count)
    }
    try compare(inputs: head["job"]["inputs_sha256"], path)
    if let other = paths[shard.index] {
      throw MergeFault(
        .mismatch, "`\(other)` and `\(path)` are both the report of shard \(shard.text)",
        hint: "give the later one alone")
    }
    paths[shard.index] = path
    if report.places.highest > places.highest { highest = path }
    places.add(report.places)
    if let whole = head["run"]["shard"]["whole"].int64, plans[whole] == nil { plans[whole] = path }
    total = total.adding(clamping: max(0, head["totals"]["transfers"].int64 ?? 0))
    return true
  }

  private mutating func compare(inputs value: JSON, _ path: String) throws(MergeFault) {
    guard value != .null else { return }
    guard let first = inputs else { return inputs = (path, value) }
    guard first.value == value else {
      throw MergeFault(
        .mismatch,
        "`\(path)` and `\(first.path)` do not belong together: the digest of `--set` and imports is \(Self.words(value)) and \(Self.words(first.value))",
        hint: "merge reports of parts that were run with one `--set` and the same imported files")
    }
  }

  /// - Throws: `MergeFault` where one is missing that must be there, or where parts have planned the job from other rows or
  ///   listings: then places in the plan of the whole job are taken twice, or by none.
  func check() throws(MergeFault) {
    guard common != nil, !paths.isEmpty else { throw MergeFault(.mismatch, "there is no report to merge") }
    guard isPartial || missing.isEmpty else {
      throw MergeFault(
        .mismatch, message,
        hint: "run what is missing, and give its report too; `--partial` merges without, and says so")
    }
    guard missing.isEmpty else { return }
    // What came at the end between the parts leaves no gap where it is of parts that had ended.
    if plans.count > 1, let least = plans.min(by: { $0.key < $1.key }),
      let most = plans.max(by: { $0.key < $1.key })
    {
      throw unlike(
        "there were \(least.key) transfers for `\(least.value)`, and \(most.key) for `\(most.value)`")
    }
    guard places.highest <= total else {
      throw unlike(
        "`\(highest)` has transfer \(places.highest) of the plan, and all reports together have \(total)")
    }
    // Long reports list only what changed.
    guard places.count < total || places.areWithoutGap else {
      throw unlike("some places in the plan are taken twice, and others by no transfer")
    }
  }

  private func unlike(_ what: String) -> MergeFault {
    MergeFault(
      .mismatch, "the parts worked on different plans: \(what)",
      hint:
        "rows or listings changed between the parts: run those again that ran before the change, and merge their new reports"
    )
  }

  private var count: Int { common?.count ?? 0 }

  /// Indexes of parts that no report is there of.
  var missing: [Int] { count == paths.count ? [] : (1...max(1, count)).filter { paths[$0] == nil } }

  private var message: String {
    let missing = missing
    let names = CauseTally.names(missing.prefix(Self.named).map { "\($0)/\(count)" }, of: missing.count)
    return "the reports of \(missing.count) of \(count) shards are missing: \(names)"
  }

  /// Parts that a message names at the most.
  private static let named = 8

  /// What a merged report says of its parts; null where none is missing would hide how many there were.
  var json: JSON {
    ["count": .int(count), "merged": .int(paths.count), "missing": .array(missing.map { .int($0) })]
  }

  var diagnostic: JSON? {
    guard !missing.isEmpty else { return nil }
    return CommonJSON.diagnostic(
      RecordedDiagnostic(
        Diagnostic(.warning, message, hint: "what they moved is not in this report")))
  }

  private static func words(_ value: JSON) -> String {
    value == .null ? "not told" : value.string.map { "`\($0.prefix(100))`" } ?? value.text
  }
}
