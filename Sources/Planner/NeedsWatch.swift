internal import Endpoints
internal import JobModel

/// Watches whether what `needs` names turns up in the plan.
final class NeedsWatch {
  /// Patterns that nothing has matched yet, with the fan-outs below whose ids they may match.
  private var open: [(pattern: GlobPattern, place: TextPlace, fanOuts: [String])] = []
  /// What the ids of prefixes begin with that nobody lists, as `check` does not: any may be there.
  private let unlisted: [String]
  /// Hashes of the ids that rows need.
  private(set) var rowNeeds: Set<UInt64> = []
  private var circle = NeedsCircle()
  /// Hashes of the ids whose needs run in a circle.
  var circling: Set<UInt64> { circle.members }
  private let rowTemplates: Set<String>
  /// By template: what stands for it in the circle, all of a fan-out or the one transfer.
  private let standIns: [UInt64]
  /// The same, by the pattern that means all of a fan-out.
  private var fanOuts: [String: UInt64] = [:]
  /// By what the ids of a fan-out begin with: those whose needs no row decides.
  private var plain: [(prefix: String, standIn: UInt64)] = []
  /// Patterns that may match some transfers of rows, and who needs those.
  private var parts: [(owner: UInt64, pattern: GlobPattern)] = []

  init(job: Job, isListing: Bool) {
    let unlisted = job.templates.filter { if case .prefix = $0.fanOut { !isListing } else { false } }
    self.unlisted = unlisted.map { $0.id + "/" }
    let ids = Set(job.templates.map(\.id))
    var rowTemplates: Set<String> = []
    for template in job.templates {
      for need in template.needs {
        guard let literal = need.text.literal.map(PercentEncoding.need) else {
          rowTemplates.insert(template.id)
          continue
        }
        // An id of the manifest itself is there: only ids that rows and globs make are left to see.
        // What none of the manifest's transfers can be is told where the manifest is read.
        guard !ids.contains(GlobPattern.unescape(literal)) || GlobPattern.isPattern(literal),
          let pattern = try? GlobPattern(literal),
          !job.templates.contains(where: { pattern.matches($0.id) })
        else { continue }
        let fanOuts = job.templates.filter { $0.fanOut != .single && pattern.mayMatch(below: $0.id) }
        // What a disabled one would have been made of is not known.
        guard !fanOuts.isEmpty, !fanOuts.contains(where: \.isDisabled),
          !unlisted.contains(where: { pattern.mayMatch(below: $0.id) })
        else { continue }
        open.append((pattern, TextPlace(need), fanOuts.map(\.id)))
      }
    }
    self.rowTemplates = rowTemplates
    standIns = job.templates.map { NameHash.of($0.fanOut == .single ? $0.id : Self.all(of: $0)) }
    if !rowTemplates.isEmpty { noteTemplates(of: job) }
  }

  /// What the manifest says without its rows is free of circles: with what rows say, it may not be.
  private func noteTemplates(of job: Job) {
    let templates = zip(job.templates, standIns).filter { !$0.0.isDisabled }
    for (template, standIn) in templates where template.fanOut != .single {
      fanOuts[Self.all(of: template)] = standIn
      if !rowTemplates.contains(template.id) { plain.append((template.id + "/", standIn)) }
    }
    let many = templates.filter { $0.0.fanOut != .single }
    let byID = Dictionary(grouping: templates.filter { $0.0.fanOut == .single }) { $0.0.id }
    for (template, standIn) in templates {
      for need in template.settings.values.first?.needs ?? [] {
        guard let pattern = try? GlobPattern(need) else { continue }
        let meant = pattern.isLiteral ? (byID[GlobPattern.unescape(need)] ?? []) + many : templates
        for (other, target) in meant where other.id != template.id {
          let (isSingle, isByRow) = (other.fanOut == .single, rowTemplates.contains(other.id))
          if isSingle ? pattern.matches(other.id) : pattern.coversAll(below: other.id) {
            circle.note(standIn, needs: [target])
          } else if !isSingle, pattern.mayMatch(below: other.id) {
            // All that rows without needs of their own wait for is what their fan-out waits for.
            if isByRow { parts.append((standIn, pattern)) } else { circle.note(standIn, needs: [target]) }
          }
        }
      }
    }
  }

  private static func all(of template: TransferTemplate) -> String {
    GlobPattern.escape(template.id) + "/**"
  }

  /// - Parameter template: the index of the template that the transfer was made of.
  func note(_ planned: PlannedTransfer, template: Int) {
    if !open.isEmpty {
      open.removeAll { item in
        planned.id.hasPrefix(item.pattern.fixedPart) && item.pattern.matches(planned.id)
      }
    }
    guard !rowTemplates.isEmpty, planned.settingsGroup == nil else { return }
    let ids = planned.settings.needs.filter { !GlobPattern.isPattern($0) }
    let hashes = ids.map { NameHash.of($0) }
    rowNeeds.formUnion(
      unlisted.isEmpty
        ? hashes
        : ids.filter { id in !unlisted.contains { id.hasPrefix($0) } }.map { NameHash.of($0) })
    let whole =
      planned.settings.needs.compactMap { fanOuts[$0] }
      + plain.filter { fanOut in ids.contains { $0.hasPrefix(fanOut.prefix) } }.map(\.standIn)
    guard !hashes.isEmpty || !whole.isEmpty else { return }
    let id = NameHash.of(planned.id)
    circle.note(id, needs: hashes + whole)
    circle.note(id, of: standIns[template])
    for part in parts where part.pattern.matches(planned.id) { circle.note(id, of: part.owner) }
  }

  /// - Parameter empty: ids of fan-outs that found nothing, and may: a glob of their ids is met, as their own ids are.
  func report(to faults: PlanFaults, empty: Set<String>) {
    for item in open where item.pattern.isLiteral || !item.fanOuts.contains(where: empty.contains) {
      faults.error(
        "`\(item.pattern.text)` in `needs` matches no transfer", at: item.place,
        hint: "name the id of a transfer, or a glob of ids")
    }
  }
}
