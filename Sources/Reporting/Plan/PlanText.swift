import JobModel

/// A plan for people: a line a transfer as far as a screen or two reaches, then what it comes to.
package final class PlanText {
  /// Lines beyond are counted, not printed; `--json` has them all.
  static let limit = 200
  private let write: (String) throws -> Void
  private let paint: Paint
  private var totals = PlanTotals()
  /// Those that were named so far, to be told at the end.
  private var policies: [(name: String, policy: EffectivePolicy)] = []
  private static let policyLimit = 32

  /// - Parameter write: takes whole lines, newline included.
  package init(isColoured: Bool, _ write: @escaping (String) throws -> Void) {
    self.write = write
    paint = Paint(isOn: isColoured)
  }

  package func add(_ line: PlanLine) throws {
    totals.add(line)
    guard totals.transfers <= Self.limit else { return }
    var text = DisplayText.padded(word(line.action), to: 10) + "  " + paint.bold(DisplayText.safe(line.id))
    if let reason = line.reason { text += " (\(DisplayText.safe(reason)))" }
    text += "  " + (line.size.map(Figures.bytes) ?? "size unknown")
    if let chunks = line.chunks { text += ", " + Figures.count(chunks, "chunk") }
    text += "  " + line.direction.rawValue + ", " + line.protocolName
    if let policy = policy(of: line) { text += ", " + policy }
    let source = DisplayText.safe(Masking.place(line.source))
    let destination = DisplayText.safe(Masking.place(line.destination))
    try write("\(text)\n" + paint.faint("            \(source) -> \(destination)") + "\n")
    let limits = limits(line)
    if !limits.isEmpty { try write("            " + limits.joined(separator: "; ") + "\n") }
  }

  package func finish() throws {
    for (name, policy) in policies { try write("\(name): " + PolicyText.differences(policy) + "\n") }
    if totals.transfers > Self.limit { try write("… and \(totals.transfers - Self.limit) more\n") }
    let actions = PlanLine.Action.allCases.compactMap { action in
      totals.actions[action].map { "\($0) \(word(action))" }
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

  private func word(_ action: PlanLine.Action) -> String {
    switch action {
    case .transfer: "transfer"
    case .upToDate: "up to date"
    case .resume: "resume"
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
