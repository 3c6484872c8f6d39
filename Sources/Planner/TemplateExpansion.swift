internal import Endpoints
internal import JobModel

/// Expands one template: finds its entries and hands each to `EntryPlanner`.
final class TemplateExpansion {
  let template: TransferTemplate
  let index: Int
  let context: PlanContext
  let faults: PlanFaults
  private var entryFaults = EntryFaults()

  init(template: TransferTemplate, index: Int, context: PlanContext, faults: PlanFaults) {
    self.template = template
    self.index = index
    self.context = context
    self.faults = faults
  }

  func run(_ visit: Visit) throws {
    guard !template.isDisabled else {
      let planned = PlannedTransfer(
        id: template.id, source: written(template.source), destination: written(template.destination),
        destinationIdentity: written(template.destination).text, settings: anySettings, expect: Expectation(),
        mark: template.mark, settingsGroup: nil)
      return try visit(planned, templatePlaces)
    }
    guard isConfined(), liesOutsideState() else { return }
    switch template.fanOut {
    case .single: try single(visit)
    case .glob(let filter, let rule): try glob(filter, rule, visit)
    case .prefix(let filter, let rule): try prefix(filter, rule, visit)
    case .rows(let source, let rule): try RowExpansion(expansion: self, source: source).run(rule, visit)
    }
  }

  private var templatePlaces: TemplatePlaces { TemplatePlaces(expansion: self) }

  /// Fails or warns, as `if_empty` says.
  func empty(_ message: String, _ rule: EmptyRule, at place: TextPlace) {
    switch rule {
    case .fail: faults.error(message, at: place, hint: "write `if_empty: warn` if that may happen")
    case .warn:
      context.empty.insert(template.id)
      faults.warning(message, at: place)
    }
  }

  func planner(columns: [String] = []) -> EntryPlanner {
    EntryPlanner(template: template, index: index, context: context, columns: columns)
  }

  func values(row: (any RowReader)? = nil) -> EntryValues {
    EntryValues(run: context.run, uuid: context.uuid, row: row, scratch: context.scratch)
  }

  private var anySettings: TransferSettings {
    template.settings.first?.value ?? TransferSettings(direction: template.direction)
  }

  private func written(_ place: PlaceTemplate) -> Place {
    let text = place.text.text.written
    switch place.kind {
    case .local, .undecided: return .local(RelativePath.tidy(text))
    case .remote(let endpoint): return .remote(endpoint: endpoint, path: text)
    case .url: return .url(text)
    }
  }

  private func single(_ visit: Visit) throws {
    guard let planned = planned(planner(), .single) else { return }
    try visit(planned, templatePlaces)
  }

  private func glob(_ filter: EntryFilter, _ rule: EmptyRule, _ visit: Visit) throws {
    let place = TextPlace(template.source.text)
    guard let text = globText() else { return }
    let pattern: GlobPattern
    do throws(ValueFault) {
      pattern = try GlobPattern(text)
    } catch {
      faults.error(error.message, at: place, hint: error.hint)
      return
    }
    let fixed = RelativePath.tidy(pattern.fixedPart)
    let planner = planner()
    var (count, selection, passedOver) = (0, selection(filter), PassedOver())
    let walk = TreeWalk(pattern: pattern, filter: filter, fixed: pattern.fixedPart, root: root(of: fixed))
    try walk.run { below, size, modified in
      guard selection.takes(size: size, modified: modified, context.shown(fixed + below), faults) else {
        return
      }
      count += 1
      let entry = EntryPlanner.Entry.found(source: .local(fixed + below), below: below, size: size)
      if let planned = planned(planner, entry) { try visit(planned, templatePlaces) }
    } skipped: { below, reason in
      passedOver.add(context.shown(fixed + below), reason, at: place, faults)
    }
    passedOver.report(at: place, faults)
    entryFaults.report(faults)
    selection.report(faults)
    if count == 0, !selection.hasUntold {
      empty(selection.emptiness("no file matches `\(text)`"), rule, at: place)
    }
  }

  func selection(_ filter: EntryFilter) -> EntrySelection {
    EntrySelection(filter.bounds, startedAt: context.run.startedAt)
  }

  private func root(of fixed: String) -> String {
    let absolute = context.absolute(fixed)
    return absolute.hasSuffix("/") ? absolute : absolute + "/"
  }

  /// The glob with the run's values put in, which are no patterns.
  private func globText() -> String? {
    var text = ""
    for part in template.source.text.text.parts {
      switch part {
      case .literal(let literal): text += literal
      case .reference(let reference):
        let one = MarkedText(
          text: InterpolatedText(parts: [.reference(reference)]), mark: template.source.text.mark,
          lineText: template.source.text.lineText)
        do throws(EntryFault) {
          text += GlobPattern.escape(try values().text(CompiledText(one, columns: [])))
        } catch {
          faults.error(error.message, at: self.place(of: error, row: nil), hint: error.hint)
          return nil
        }
      }
    }
    return text
  }

  private func prefix(_ filter: EntryFilter, _ rule: EmptyRule, _ visit: Visit) throws {
    let place = TextPlace(template.source.text)
    guard case .remote(let name) = template.source.kind, let endpoint = context.job.endpoints[name],
      let settings = template.settings(ofSource: name)
    else { return }
    guard endpoint.driver.abilities.lists else {
      faults.error(
        "listing \(endpoint.driver.word) endpoints is not supported", at: place,
        hint: "name each file, or write the names into a file for `for_each`")
      return
    }
    let planner = planner()
    guard let prefix = text(of: template.source.text), let lister = context.lister else { return }
    var (count, selection) = (0, selection(filter))
    var (folders, passedOver) = (FolderMarks(), PassedOver())
    try lister(endpoint, prefix, settings) { found in
      let below = found.path
      if let kind = found.nonFile {
        // A link may lead to a folder.
        if filter.admits(below) || kind == .link && !filter.excludesAll(below: below) {
          passedOver.add("\(name):\(prefix)\(below)", kind)
        }
        return
      }
      guard !isFolderMark(below, size: found.size) else { return folders.note(below) }
      guard filter.admits(below),
        selection.takes(
          size: found.size, modified: found.modified, "\(name):\(prefix)\(below)", faults)
      else { return }
      count += 1
      let source = Place.remote(endpoint: name, path: prefix + below)
      let entry = EntryPlanner.Entry.found(source: source, below: below, size: found.size)
      if let planned = planned(planner, entry) { try visit(planned, templatePlaces) }
    }
    if let message = folders.message { faults.warning(message, at: place) }
    passedOver.report(at: place, faults)
    entryFaults.report(faults)
    selection.report(faults)
    if count == 0, !selection.hasUntold {
      empty(selection.emptiness("nothing lies below `\(name):\(prefix)`"), rule, at: place)
    }
  }

  /// Whether a name below the prefix only shows a folder. One with bytes is an object, which another store can keep under
  /// that name.
  func isFolderMark(_ below: String, size: Int64?) -> Bool {
    guard below.utf8.last ?? 0x2F == 0x2F else { return false }
    guard template.direction == .copy, !below.isEmpty, let size, size > 0,
      case .remote(let name) = template.destination.kind,
      let abilities = context.job.endpoints[name]?.driver.abilities
    else { return true }
    // A `to` that does not keep the path would take such a name for a folder's.
    let to = template.destination.text.text.written
    return !abilities.lists || abilities.joinsSlashes || to.utf8.last ?? 0x2F != 0x2F
  }

  /// A text that no entry has a part in; nil after a fault, which is reported.
  func text(of text: MarkedText) -> String? {
    do throws(EntryFault) {
      return try values().text(CompiledText(text, columns: []))
    } catch {
      faults.error(error.message, at: place(of: error, row: nil), hint: error.hint)
      return nil
    }
  }

  /// Nil after a fault of the entry, which is reported.
  func planned(
    _ planner: EntryPlanner, _ entry: EntryPlanner.Entry, row: (any RowReader)? = nil
  ) -> PlannedTransfer? {
    do throws(EntryFault) {
      return try planner.plan(values(row: row), entry: entry)
    } catch {
      for fault in planner.faults(values(row: row), entry: entry) {
        let place = place(of: fault, row: row)
        if row == nil, case .found(let source, _, _) = entry {
          let name = source.localPath.map(context.shown) ?? source.text
          entryFaults.add(fault, of: name, at: place, faults)
        } else {
          faults.error(fault.message, at: place, hint: fault.hint)
        }
      }
      return nil
    }
  }

  private func place(of fault: EntryFault, row: (any RowReader)?) -> TextPlace {
    switch fault.place {
    case .manifest(let place): place
    case .cell(let index): rowPlace(row, index) ?? TextPlace(template.source.text)
    case .row: rowPlace(row, nil) ?? TextPlace(template.destination.text)
    }
  }

  func rowPlace(_ row: (any RowReader)?, _ index: Int?) -> TextPlace? {
    guard let row, case .rows(let source, _) = template.fanOut else { return nil }
    let place = row.place(index)
    let mark = SourceMark(
      file: row.file ?? context.shown(source.path), line: place.line, column: place.column)
    return TextPlace(mark: mark, lineText: place.lineText)
  }

  /// The folder that all destinations share must not lead out through a link.
  private func isConfined() -> Bool {
    guard template.direction == .download, case .local = template.destination.kind,
      !(template.settings.values.contains(where: \.allowsOutside))
    else { return true }
    let text = RelativePath.relative(template.destination.text.text.literalPrefix, to: context.job.directory)
    let folder = RelativePath.folder(text)
    guard let link = Confinement.escapingLink(in: folder, below: context.job.directory) else { return true }
    faults.error(
      "the destination leaves the manifest's folder: `\(link)` is a symbolic link out of it",
      at: TextPlace(template.destination.text), hint: "write `allow_outside: true` if this is meant")
    return false
  }

  /// Nor may it be one of haul's own state.
  private func liesOutsideState() -> Bool {
    let fixed = RelativePath.folder(template.destination.text.text.literalPrefix)
    guard template.direction == .download, case .local = template.destination.kind, !fixed.isEmpty
    else { return true }
    let folder = RelativePath.relative(fixed, to: context.job.directory)
    guard context.liesInState(folder) else { return true }
    let (message, hint) = StateFolders.refusal(folder)
    faults.error(message, at: TextPlace(template.destination.text), hint: hint)
    return false
  }
}

private struct TemplatePlaces: EntryPlaces {
  let expansion: TemplateExpansion
  var id: TextPlace { TextPlace(mark: expansion.template.mark, lineText: expansion.template.lineText) }
  var destination: TextPlace { TextPlace(expansion.template.destination.text) }
  var idHint: String { "give one of them another `id`" }
  var haveRowNeeds: Bool { false }
  var areListed: Bool { if case .prefix = expansion.template.fanOut { true } else { false } }
}

/// Names that end in `/`: stores keep them to show empty folders, and no file can be called so.
struct FolderMarks {
  private var count = 0
  private var first = ""

  /// The prefix's own mark goes without saying.
  mutating func note(_ below: String) {
    guard !below.isEmpty else { return }
    if count == 0 { first = below }
    count += 1
  }

  var message: String? {
    switch count {
    case 0: nil
    case 1: "skipped: the name `\(first)` ends in `/`, so that no file can have it"
    default: "skipped: \(count) names end in `/`, `\(first)` first, so that no file can have them"
    }
  }
}
