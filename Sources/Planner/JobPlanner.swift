package import Endpoints
package import JobModel

/// Names what lies below a remote prefix, in the order of names: each path below it, with its size and time if known.
/// `settings` are those of the transfers that will be made of it.
package typealias RemoteLister = (
  _ endpoint: Endpoint, _ prefix: String, _ settings: TransferSettings,
  _ entry: (ListedPage.Entry) throws -> Void
) throws -> Void

/// Expands a job into its transfers, as a stream: no transfer is kept.
package enum JobPlanner {
  /// Calls `each` for every transfer in the manifest's order; the diagnostics say whether the plan counts.
  ///
  /// With an error among them nothing of what `each` saw may be used. `uuid` gives the value of `${uuid}` for a
  /// transfer's id. What `each` throws ends the expansion and is thrown on. Without a `lister` remote prefixes are
  /// taken as they are, and nothing is said of what lies below them. A destination in `state` is an error, but for those
  /// that a listing finds. With a `part`, `each` is called for its transfers alone, which have their ordinals then; the
  /// diagnostics are those of the whole job all the same. Rows that are `known` count, but nothing is planned for them:
  /// whether others may stand beside them is left to the caller. Templates that are left out make nothing. `counted` is
  /// told how many transfers the whole job has of which a `part` has some.
  package static func expand(
    _ job: Job, run: RunValues, uuid: @escaping (String) -> String, lister: RemoteLister? = nil,
    state: StateFolders? = nil, part: PartRule? = nil, known: (any KnownRows)? = nil,
    without left: Set<String> = [], counted: (Int64) -> Void = { _ in },
    each: (PlannedTransfer) throws -> Void
  ) throws -> [Diagnostic] {
    let context = PlanContext(job: job, run: run, uuid: uuid, lister: lister, state: state)
    context.known = known
    let faults = PlanFaults()
    let unique = Uniqueness(context.keys)
    let needs = NeedsWatch(job: job, isListing: lister != nil)
    var ordinal: Int64 = 0
    try pass(context, faults, without: left) { planned, _, template in
      unique.note(planned)
      needs.note(planned, template: template)
      guard let part else { return try each(planned) }
      ordinal += 1
      guard part.holds(planned.id, template: template) else { return }
      var planned = planned
      planned.ordinal = ordinal
      try each(planned)
    }
    if part != nil { counted(ordinal) }
    unique.settle(needs: needs.rowNeeds, circling: needs.circling)
    if unique.hasSuspects {
      // Only the first pass hands on what is known.
      context.known = nil
      // A hash that came twice may be chance: a second pass compares the texts themselves.
      try pass(context, PlanFaults(), without: left) { planned, places, _ in
        unique.confirm(planned, places, faults)
      }
    }
    if faults.errorCount == 0 { needs.report(to: faults, empty: context.empty) }
    return faults.diagnostics
  }

  private static func pass(
    _ context: PlanContext, _ faults: PlanFaults, without left: Set<String>,
    _ visit: (_ planned: PlannedTransfer, _ places: any EntryPlaces, _ template: Int) throws -> Void
  ) throws {
    for (index, template) in context.job.templates.enumerated() where !left.contains(template.id) {
      try TemplateExpansion(template: template, index: index, context: context, faults: faults).run {
        try visit($0, $1, index)
      }
    }
  }
}

/// What every template's expansion needs.
final class PlanContext {
  let job: Job
  let run: RunValues
  let uuid: (String) -> String
  let lister: RemoteLister?
  let links: DestinationLinks
  let keys: DestinationKeys
  private let state: StateFolderCheck?
  let scratch = TextScratch()
  var known: (any KnownRows)?
  /// Ids of fan-outs that found nothing, where `if_empty: warn` lets them.
  var empty: Set<String> = []

  init(
    job: Job, run: RunValues, uuid: @escaping (String) -> String, lister: RemoteLister?, state: StateFolders?
  ) {
    self.job = job
    self.run = run
    self.uuid = uuid
    self.lister = lister
    self.state = state.map(StateFolderCheck.init)
    links = DestinationLinks(below: job.directory)
    keys = DestinationKeys(job.endpoints)
  }

  /// Whether a local destination lies in a folder of haul's own state; a folder's path ends in `/`.
  func liesInState(_ path: String) -> Bool {
    state?.holds(RelativePath.folder(path)) ?? false
  }

  /// A local path as the file system takes it.
  func absolute(_ path: String) -> String {
    RelativePath.absolute(path, in: job.directory)
  }

  /// A local path as a diagnostic names it: beside the manifest, as that was given.
  func shown(_ path: String) -> String {
    RelativePath.isAbsolute(path) ? path : RelativePath.folder(job.manifestPath) + path
  }
}

typealias Visit = (PlannedTransfer, any EntryPlaces) throws -> Void
