internal import Endpoints
internal import JobModel

/// Watches whether what `needs` names turns up in the plan.
final class NeedsWatch {
  private var open: [(pattern: GlobPattern, place: TextPlace)] = []
  /// Hashes of the ids that rows need.
  private(set) var rowNeeds: Set<UInt64> = []
  private var circle = NeedsCircle()
  /// Hashes of the ids whose needs run in a circle.
  var circling: Set<UInt64> { circle.members }
  private let rowTemplates: Set<String>

  init(job: Job) {
    var rowTemplates: Set<String> = []
    for template in job.templates {
      for need in template.needs {
        guard let literal = need.text.literal.map(PercentEncoding.need) else {
          rowTemplates.insert(template.id)
          continue
        }
        // An id of the manifest itself is there: only ids that rows and globs make are left to see.
        // What none of the manifest's transfers can be is told where the manifest is read.
        guard let pattern = try? GlobPattern(literal),
          !job.templates.contains(where: { pattern.matches($0.id) })
        else { continue }
        let fanOuts = job.templates.filter { $0.fanOut != .single && pattern.mayMatch(below: $0.id) }
        // What a disabled one would have been made of is not known.
        guard !fanOuts.isEmpty, !fanOuts.contains(where: \.isDisabled) else { continue }
        open.append((pattern, TextPlace(need)))
      }
    }
    self.rowTemplates = rowTemplates
  }

  func note(_ planned: PlannedTransfer) {
    if !open.isEmpty {
      open.removeAll { item in
        planned.id.hasPrefix(item.pattern.fixedPart) && item.pattern.matches(planned.id)
      }
    }
    guard !rowTemplates.isEmpty, planned.settingsGroup == nil else { return }
    let hashes = planned.settings.needs.filter { !GlobPattern.isPattern($0) }.map { NameHash.of($0) }
    rowNeeds.formUnion(hashes)
    if !hashes.isEmpty { circle.note(NameHash.of(planned.id), needs: hashes) }
  }

  func report(to faults: PlanFaults) {
    for item in open {
      faults.error(
        "`\(item.pattern.text)` in `needs` matches no transfer", at: item.place,
        hint: "name the id of a transfer, or a glob of ids")
    }
  }
}
