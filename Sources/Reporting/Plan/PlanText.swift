package import JobModel

/// A plan for people: what a run would move or hold, as far as a screen or two reaches, then what it comes to.
package final class PlanText {
  /// Lines beyond are counted, not printed; `--all` and `--json` have them all.
  static let limit = 200
  private let write: (String) throws -> Void
  private let paint: Paint
  /// Also what is up to date.
  package let showsAll: Bool
  private let limits: JobLimits
  private var totals = PlanTotals()
  private var shown = 0
  /// Those that were named so far, to be told at the end.
  private var policies: [(name: String, policy: EffectivePolicy)] = []
  private static let policyLimit = 32

  /// - Parameters:
  ///   - limits: of the job.
  ///   - showsAll: also what is up to date, however many they are.
  ///   - write: takes whole lines, newline included.
  package init(
    isColoured: Bool, limits: JobLimits = JobLimits(), showsAll: Bool = false,
    _ write: @escaping (String) throws -> Void
  ) {
    self.write = write
    self.limits = limits
    self.showsAll = showsAll
    paint = Paint(isOn: isColoured)
  }

  package func add(_ line: PlanLine) throws {
    totals.add(line)
    guard showsAll || line.action != .upToDate else { return }
    shown += 1
    guard showsAll || shown <= Self.limit else { return }
    var text = DisplayText.padded(word(line.action), to: 10) + "  " + paint.bold(DisplayText.safe(line.id))
    let why = [line.change.flatMap(word), line.reason].compactMap(\.self)
    if !why.isEmpty { text += " (\(DisplayText.safe(why.joined(separator: ": "))))" }
    text += "  " + (line.size.map(Figures.bytes) ?? "size unknown")
    if let chunks = line.chunks { text += ", " + Figures.count(chunks, "chunk") }
    text += "  " + line.direction.rawValue + ", " + line.protocolName
    if let policy = policy(of: line) { text += ", " + policy }
    let source = DisplayText.safe(Masking.place(line.source))
    let destination = DisplayText.safe(Masking.place(line.destination))
    try write("\(text)\n" + paint.faint("            \(source) -> \(destination)") + "\n")
    if let then = line.then { try write(paint.faint("            then \(DisplayText.safe(then))") + "\n") }
    let limits = limits(line)
    if !limits.isEmpty { try write("            " + limits.joined(separator: "; ") + "\n") }
  }

  /// Whether further transfers are only counted.
  package var isFull: Bool { !showsAll && shown >= Self.limit }

  /// Counts a transfer to run, beyond those that are shown, of which nothing is on record.
  ///
  /// - Parameter size: bytes; nil where unknown.
  package func count(newOf size: Int64?, chunkSize: ChunkSize) {
    shown += 1
    let chunks = size.map { ChunkLayout(size: $0, chunkSize: chunkSize.bytes(of: $0, chosen: nil)).count }
    totals.add(newOf: size, chunks: chunks)
  }

  /// Counts a transfer that is up to date, which is not shown.
  package func count(upToDate size: Int64, chunkSize: Int64) {
    totals.add(upToDate: size, chunks: ChunkLayout(size: size, chunkSize: chunkSize).count)
  }

  /// - Parameter gone: what the manifest no longer has.
  package func finish(gone: (count: Int, ids: [String]) = (0, [])) throws {
    for (name, policy) in policies { try write("\(name): " + PolicyText.differences(policy) + "\n") }
    if let limits = LimitsText.text(limits) { try write("limits of the job: \(limits)\n") }
    if !showsAll, shown > Self.limit { try write("… and \(shown - Self.limit) more; `--all` lists them\n") }
    if gone.count > 0 {
      let more = gone.count > gone.ids.count ? ", …" : ""
      try write(
        "gone from the manifest: \(gone.count) (\(gone.ids.map { DisplayText.safe($0) }.joined(separator: ", "))\(more))\n"
      )
    }
    let actions = PlanLine.Action.allCases.compactMap { action in
      totals.actions[action].map { "\($0) \(total(action))" }
    }
    var text = Figures.count(totals.transfers, "transfer")
    if !actions.isEmpty { text += ": " + actions.joined(separator: ", ") }
    text += "\n" + Figures.bytes(totals.bytesToMove) + " to move of " + Figures.bytes(totals.bytes)
    if totals.chunks > 0 { text += ", " + Figures.count(totals.chunks, "chunk") }
    if totals.unknownSizes > 0 { text += ", " + Figures.count(totals.unknownSizes, "unknown size") }
    try write(text + "\n")
  }

  /// The name that its policy goes by here; nil for what is built in.
  private func policy(of line: PlanLine) -> String? {
    guard let policy = line.policy, line.policyName != nil || policy != EffectivePolicy() else { return nil }
    let title = line.policyName.map { "policy `\(DisplayText.safe($0))`" } ?? "a policy of its own"
    if let known = policies.first(where: { $0.policy == policy && $0.name.hasPrefix(title) }) {
      return known.name
    }
    // A level may have refined it.
    let others = policies.count { $0.name.hasPrefix(title) }
    guard policies.count < Self.policyLimit else { return title }
    let name = others == 0 ? title : "\(title) (\(others + 1))"
    policies.append((name, policy))
    return name
  }

  private func word(_ change: PlanLine.Change) -> String? {
    switch change {
    case .new: "new"
    case .changed: "changed"
    case .again: "again"
    case .held, .upToDate: nil
    }
  }

  private func total(_ action: PlanLine.Action) -> String {
    switch action {
    case .transfer: "to run"
    case .resume: "to resume"
    case .attach: "to attach"
    case .skip: "to skip"
    case .upToDate, .unknown: word(action)
    }
  }

  private func word(_ action: PlanLine.Action) -> String {
    switch action {
    case .transfer: "transfer"
    case .upToDate: "up to date"
    case .resume: "resume"
    case .attach: "attach"
    case .skip: "skip"
    case .unknown: "unknown"
    }
  }

  /// What the protocol can't do, said where it matters.
  private func limits(_ line: PlanLine) -> [String] {
    var limits: [String] = []
    if line.isResumable == false { limits.append("can't be resumed: an interruption starts it anew") }
    if line.isParallel == false { limits.append("one request at a time") }
    return limits
  }
}
