internal import Endpoints
internal import JobModel

/// Makes the transfer of one entry: everything put in, every rule of places kept.
final class EntryPlanner {
  enum Entry {
    case single
    /// A file that a glob or a listing found, below the fixed part.
    case found(source: Place, below: String, size: Int64?)
    case row
  }

  private let template: TransferTemplate
  private let index: Int
  private let context: PlanContext
  private let source: CompiledText
  private let destination: CompiledText
  private let key: CompiledText?
  private let expect: [(key: ExpectationKey, text: CompiledText)]
  private let constantExpect: Expectation?
  private let decisions: [Decision]
  /// Ids that stand for all transfers of a fan-out.
  private let fanOuts: Set<String>
  private let usesSource: Bool
  private let groups: [String: Int]
  /// Of the transfer before, as most rows name one endpoint.
  private var last: (remote: String, settings: TransferSettings, group: Int?)?
  private let target: DestinationText
  /// The template's id, for those of its entries.
  private let idPrefix: String
  private let rowFile: String?

  init(template: TransferTemplate, index: Int, context: PlanContext, columns: [String]) {
    self.template = template
    self.index = index
    self.context = context
    source = CompiledText(template.source.text, columns: columns)
    destination = CompiledText(template.destination.text, columns: columns)
    if case .rows(let rows, _) = template.fanOut {
      key = rows.key.map { CompiledText($0, columns: columns) }
    } else {
      key = nil
    }
    expect = template.expect.sorted { $0.key.word < $1.key.word }.map {
      ($0.key, CompiledText($0.value, columns: columns))
    }
    constantExpect = Self.constant(expect)
    let needs = template.needs.filter { $0.text.literal == nil }
    fanOuts = Set(
      needs.isEmpty
        ? [] : context.job.templates.filter { $0.fanOut != .single && !$0.isDisabled }.map(\.id))
    func text(_ text: MarkedText) -> CompiledText { CompiledText(text, columns: columns) }
    decisions =
      template.rowSettings.map { .setting($0.setting, text($0.value)) }
      + template.headers.compactMap { header in header.text.map { .header(header.name, text($0)) } }
      + template.attributes.map { .attribute($0, text($0.value)) }
      + [template.then].compactMap { then in
        then.flatMap { $0.common == nil ? .then(AttachFilling($0, columns: columns, context)) : nil }
      } + needs.map { .need(text($0)) }
    usesSource = destination.usesSource
    let names = template.settings.keys.sorted()
    let width = context.job.endpoints.count + 1
    groups = Dictionary(
      uniqueKeysWithValues: names.enumerated().map { ($0.element, index * width + $0.offset) })
    target = DestinationText(template: template, compiled: destination, context: context)
    idPrefix = template.id + "/"
    if case .rows(let rows, _) = template.fanOut { rowFile = context.shown(rows.path) } else { rowFile = nil }
  }

  func plan(_ values: EntryValues, entry: Entry) throws(EntryFault) -> PlannedTransfer {
    var values = values
    let from = try sourcePlace(&values, entry)
    values.id = try id(values, entry)
    let place: Place
    let takesName: Bool
    do throws(EntryFault) {
      (place, takesName) = try target.place(try target.text(values), source: from, below: below(entry))
      try checkPath(template.direction.writesRemote ? place : from)
    } catch {
      guard case .found(.remote(let endpoint, let path), let below, _) = entry, let obstacle = error.obstacle
      else { throw error }
      return try refused(obstacle, endpoint, path, below, values)
    }
    let remote = template.direction.writesRemote ? place : from
    if case .row = entry { try refuseShellWord(place, at: destination) }
    try check(from, place)
    if template.direction == .copy { try refuseGrowth(entry, to: place) }
    var (settings, group) = try settings(for: remoteName(remote), source: remoteName(from))
    try decide(&settings, values)
    try target.confine(place, allowsOutside: settings.allowsOutside)
    switch entry {
    case .single, .row: try target.refuseState(place)
    case .found: break
    }
    try checkProof(settings, remote)
    try checkGiven(&settings.given, remote)
    return PlannedTransfer(
      id: values.id ?? template.id, source: from, destination: place,
      destinationIdentity: try identity(place, takesName, values, from, entry), settings: settings,
      expect: try expectation(values), knownSize: try knownSize(from, entry), mark: mark(values.row),
      takesSourceName: takesName, settingsGroup: decisions.isEmpty ? group : nil)
  }

  /// A transfer that a store's name keeps from being carried out: planned, so that it is seen, and sure to fail.
  private func refused(
    _ obstacle: PlacementObstacle, _ endpoint: String, _ path: String, _ below: String, _ values: EntryValues
  ) throws(EntryFault) -> PlannedTransfer {
    guard var settings = template.settings(ofSource: endpoint) else {
      throw EntryFault.undeclared(endpoint, at: .row)
    }
    settings.obstacle = obstacle
    // No text that is stored may end at its first NUL.
    let shown = path.utf8.contains(0) ? PercentEncoding.id(path) : path
    let place = target.told(below)
    return PlannedTransfer(
      id: values.id ?? template.id, source: .remote(endpoint: endpoint, path: shown), destination: place,
      destinationIdentity: place.text, settings: settings, expect: try expectation(values),
      mark: template.mark)
  }

  /// Every fault of an entry that `plan` refuses: its parts are looked at each by itself.
  func faults(_ values: EntryValues, entry: Entry) -> [EntryFault] {
    var found: [EntryFault] = []
    func look(_ body: () throws(EntryFault) -> Void) {
      do throws(EntryFault) { try body() } catch {
        if !found.contains(where: { $0.message == error.message }) { found.append(error) }
      }
    }
    do throws(EntryFault) { _ = try plan(values, entry: entry) } catch { found.append(error) }
    var values = values
    var hasSource = false
    look { () throws(EntryFault) in
      _ = try sourcePlace(&values, entry)
      hasSource = true
    }
    // A destination that is made of the source has no more to say than that one.
    if hasSource || !usesSource {
      look { () throws(EntryFault) in
        values.id = try id(values, entry)
        _ = try target.text(values)
      }
    }
    for item in expect {
      look { () throws(EntryFault) in
        var expectation = Expectation()
        try self.expect(item, values, &expectation)
      }
    }
    var settings = template.settings.first?.value ?? TransferSettings(direction: template.direction)
    for decision in decisions { look { () throws(EntryFault) in try decide(decision, &settings, values) } }
    for case .then(let then) in decisions {
      for fault in then.faults(values) { look { () throws(EntryFault) in throw fault } }
    }
    return found
  }

  /// Where the id and the destination of a row come from, for a fault that shows only later.
  func places(_ expansion: TemplateExpansion, row: any RowReader) -> any EntryPlaces {
    RowPlaces(
      expansion: expansion, row: row, idCell: key?.firstCell ?? destination.firstCell ?? source.firstCell,
      toCell: destination.firstCell ?? source.firstCell)
  }

  private func below(_ entry: Entry) -> String? {
    if case .found(_, let below, _) = entry { below } else { nil }
  }

  private func sourcePlace(_ values: inout EntryValues, _ entry: Entry) throws(EntryFault) -> Place {
    if case .found(let place, let below, _) = entry {
      values.sourcePath = below
      return place
    }
    let text = try values.text(source)
    let place = try Places.decide(template.source.kind, text, context, at: Places.of(source))
    if case .row = entry { try refuseShellWord(place, at: source) }
    if case .row = entry, usesSource { values.sourcePath = Places.sourcePath(place) }
    if case .local(let path) = place { return .local(RelativePath.tidy(path)) }
    return place
  }

  /// A row's path is a path: nothing that a shell would put in is put in.
  private func refuseShellWord(_ place: Place, at text: CompiledText) throws(EntryFault) {
    guard case .local(let path) = place, let fault = RelativePath.shellFault(path) else { return }
    throw EntryFault(message: fault.message, hint: fault.hint, place: Places.of(text))
  }

  private func id(_ values: EntryValues, _ entry: Entry) throws(EntryFault) -> String {
    switch entry {
    case .single: return template.id
    case .found(_, let below, _): return idPrefix + PercentEncoding.id(below)
    case .row:
      var values = values
      values.dropsQueries = true
      if let key { return idPrefix + PercentEncoding.id(URLRule.withoutQuery(try values.text(key))) }
      values.keepsRun = true
      let text = try values.text(destination)
      return idPrefix + PercentEncoding.id(target.known(text))
    }
  }

  /// The destination as every run writes it.
  private func identity(
    _ place: Place, _ takesName: Bool, _ values: EntryValues, _ from: Place, _ entry: Entry
  ) throws(EntryFault) -> String {
    guard destination.usesRun else { return Places.withoutQuery(place) }
    var values = values
    values.keepsRun = true
    let text = try target.text(values)
    return Places.withoutQuery(try target.place(text, source: from, below: below(entry)).place)
  }

  private func settings(
    for remote: String, source: String
  ) throws(EntryFault) -> (TransferSettings, group: Int?) {
    let names = template.direction == .copy ? "\(remote)\0\(source)" : remote
    if let last, last.remote == names { return (last.settings, last.group) }
    guard var settings = template.settings[remote] else {
      throw EntryFault.undeclared(remote, at: .row)
    }
    var group = groups[remote]
    if template.direction == .copy {
      guard let own = template.sourceSettings[source] else {
        throw EntryFault.undeclared(source, at: .row)
      }
      settings.sourceHeaders = own.headers
      settings.sourcePolicy = own.policy == settings.policy ? nil : own.policy
      // A group's transfers have equal settings: those of several sources have not.
      if template.sourceSettings.count > 1 { group = nil }
    }
    last = (names, settings, group)
    return (settings, group)
  }

  private func remoteName(_ remote: Place) -> String {
    if case .remote(let endpoint, _) = remote { endpoint } else { "" }
  }

  private func decide(_ settings: inout TransferSettings, _ values: EntryValues) throws(EntryFault) {
    for decision in decisions { try decide(decision, &settings, values) }
  }

  /// What a row has a say in, one by one: each may have a fault of its own.
  private enum Decision {
    case setting(ScalarSetting, CompiledText)
    case header(String, CompiledText)
    case attribute(AttributeTemplate, CompiledText)
    case then(AttachFilling)
    case need(CompiledText)
  }

  private func decide(
    _ decision: Decision, _ settings: inout TransferSettings, _ values: EntryValues
  ) throws(EntryFault) {
    switch decision {
    case .setting(let setting, let text):
      let value = try values.text(text)
      do throws(ValueFault) {
        try setting.apply(value, to: &settings)
      } catch {
        throw EntryFault(
          message: "`\(setting.rawValue)`: \(error.message)", hint: error.hint, place: Places.of(text))
      }
      if setting == .verify, settings.verify == .readback, template.direction == .download {
        throw EntryFault(
          message: "`verify: readback` reads an upload back: this is a download",
          hint: "leave it out, or write `required`, which demands a digest", place: Places.of(text))
      }
    case .header(let name, let text):
      let value = try values.text(text)
      guard HeaderSetting.isSafe(value: value) else {
        throw EntryFault(
          message: "the header `\(name)` has a line end or a control character", place: Places.of(text))
      }
      let header = [HeaderSetting(name: name, value: .text(value))]
      settings.headers = HeaderSetting.overlay(header, over: settings.headers)
      guard template.direction == .copy else { return }
      settings.sourceHeaders = HeaderSetting.overlay(header, over: settings.sourceHeaders)
    case .attribute(let item, let text):
      let value = try values.text(text)
      do throws(ValueFault) {
        try item.apply(value, to: &settings.given)
      } catch {
        throw EntryFault(message: error.message, hint: error.hint, place: Places.of(text))
      }
    case .then(let then): settings = settings.attaching(try then.filled(values))
    case .need(let text):
      let need = try values.need(text)
      settings.needs.append(fanOuts.contains(need) ? GlobPattern.escape(need) + "/**" : need)
    }
  }

  private static func constant(_ texts: [(key: ExpectationKey, text: CompiledText)]) -> Expectation? {
    var expectation = Expectation()
    for item in texts {
      guard let constant = item.text.constant else { return nil }
      guard (try? item.key.apply(constant, to: &expectation)) != nil else { return nil }
    }
    return expectation
  }

  private func expectation(_ values: EntryValues) throws(EntryFault) -> Expectation {
    if let constantExpect { return constantExpect }
    var expectation = Expectation()
    for item in expect { try self.expect(item, values, &expectation) }
    return expectation
  }

  private func expect(
    _ item: (key: ExpectationKey, text: CompiledText), _ values: EntryValues, _ expectation: inout Expectation
  ) throws(EntryFault) {
    let value: String
    do throws(EntryFault) {
      value = try values.text(item.text)
    } catch {
      // An empty cell: nothing is expected of this row.
      if error.isEmptyCell { return }
      throw error
    }
    if value.isEmpty { return }
    do throws(ValueFault) {
      try item.key.apply(value, to: &expectation)
    } catch {
      throw EntryFault(
        message: "`expect.\(item.key.word)`: \(error.message)", hint: error.hint, place: Places.of(item.text))
    }
  }

  private func check(_ from: Place, _ to: Place) throws(EntryFault) {
    guard template.direction != .copy else { return try checkCopy(from, to) }
    let (local, remote) = template.direction == .download ? (to, from) : (from, to)
    guard local.isLocal, !remote.isLocal else {
      let wrong =
        local.isLocal
        ? template.remote.text
        : template.direction == .download ? template.destination.text : template.source.text
      throw EntryFault(
        message: local.isLocal ? "both sides are local" : "both sides are remote",
        hint: "one side is a local path, the other NAME:PATH or a URL",
        place: Places.of(wrong == template.source.text ? source : destination))
    }
  }

  private func checkCopy(_ from: Place, _ to: Place) throws(EntryFault) {
    if let local = [(from, source, "upload"), (to, destination, "download")].first(where: { $0.0.isLocal }) {
      throw EntryFault(
        message: "a copy goes from one remote to another, and `\(local.0.text)` is a local path",
        hint: "write `\(local.2):` in place of `copy:`", place: Places.of(local.1))
    }
    guard from != to, !isOneObject(from, to) else {
      throw EntryFault(
        message: "the source and the destination are one", hint: "give it another `to`",
        place: Places.of(destination))
    }
    let driver = RemotePlace.driver(from, context.job.endpoints)
    if case .remote(_, let path) = from, let fault = driver.objection(to: path, .download) {
      throw EntryFault(message: fault.message, hint: fault.hint, place: Places.of(source))
    }
  }

  /// Two endpoints may be names of one store, and an absolute URL may name a file of either.
  private func isOneObject(_ from: Place, _ to: Place) -> Bool {
    if context.keys.haveOneURL(from, to) { return true }
    guard case .remote(let one, let path) = from, case .remote(let other, let target) = to,
      path.utf8.elementsEqual(target.utf8), let first = context.job.endpoints[one],
      let second = context.job.endpoints[other]
    else { return false }
    return StoreIdentity.facts(first, .upload, .current) == StoreIdentity.facts(second, .upload, .current)
  }

  /// The next run would list what a copy makes below its own prefix, and copy that too, and so on for ever.
  private func refuseGrowth(_ entry: Entry, to place: Place) throws(EntryFault) {
    guard case .found(.remote(let name, let path), let below, _) = entry else { return }
    let prefix = String(Substring(path.utf8.dropLast(below.utf8.count)))
    let listed = Place.remote(endpoint: name, path: prefix)
    guard let again = context.keys.path(of: place, below: listed), template.fanOut.filter.admits(again)
    else { return }
    throw EntryFault(
      message:
        "`\(Masked.text(place.text))` lies below `\(listed.text)`: the next run would copy the copy too",
      hint: "leave what lies there out with `exclude`, or give it another `to`", place: Places.of(destination)
    )
  }

  private func checkPath(_ remote: Place) throws(EntryFault) {
    let driver = RemotePlace.driver(remote, context.job.endpoints)
    guard case .remote(_, let path) = remote,
      let fault = driver.objection(to: path, template.direction.wire)
    else { return }
    let side = template.direction.writesRemote ? destination : source
    throw EntryFault(
      message: fault.message, hint: fault.hint, place: Places.of(side), obstacle: .unfit)
  }

  /// What the manifest's own check could not know while the row had not named the endpoint.
  private func checkProof(_ settings: TransferSettings, _ remote: Place) throws(EntryFault) {
    guard template.direction.writesRemote else { return }
    let driver = RemotePlace.driver(remote, context.job.endpoints)
    if !driver.abilities.readsBack, settings.verify == .readback || settings.ifExists != .replace {
      throw EntryFault(
        message:
          "`verify: readback` and `if_exists` can't be met: a `\(driver.word)` back end can't be asked",
        hint: "leave them out: each upload gets a key of its own", place: Places.of(destination))
    }
    guard settings.verify == .required, !driver.abilities.provesUploads else { return }
    throw EntryFault(
      message: "`verify: required` can't be met: no digest comes back from an upload there",
      hint: "write `verify: readback`", place: verifyPlace)
  }

  /// Where a row says it, else where the row names the endpoint.
  private var verifyPlace: EntryFault.Place {
    for case .setting(.verify, let text) in decisions { return Places.of(text) }
    return Places.of(destination)
  }

  /// What `defaults` give waits for destinations that take it.
  private func checkGiven(_ given: inout GivenAttributes, _ remote: Place) throws(EntryFault) {
    guard !given.isEmpty else { return }
    let driver = RemotePlace.driver(remote, context.job.endpoints)
    for key in driver.abilities.refused(given) {
      guard !template.ownGiven.contains(key) else {
        throw EntryFault(
          message: "`\(driver.word)` destinations take no `\(key.rawValue)`", hint: "leave it out",
          place: Places.of(destination))
      }
      given.remove(key)
    }
  }

  private func knownSize(_ from: Place, _ entry: Entry) throws(EntryFault) -> Int64? {
    if case .found(_, _, let size) = entry { return size }
    guard template.direction == .upload, case .local(let path) = from else { return nil }
    guard let status = FileStatus(following: context.absolute(path)) else { return nil }
    if status.isFolder {
      throw EntryFault(
        message: "the source `\(path)` is a folder",
        hint: "write `\(path.hasSuffix("/") ? path : path + "/")**` for all files in it",
        place: Places.of(source))
    }
    guard status.isRegular else {
      throw EntryFault(message: "the source `\(path)` is not a regular file", place: Places.of(source))
    }
    return status.size
  }

  private func mark(_ row: (any RowReader)?) -> SourceMark {
    guard let row, let rowFile else { return template.mark }
    return SourceMark(file: row.file ?? rowFile, line: row.line, column: 1)
  }
}

private struct RowPlaces: EntryPlaces {
  let expansion: TemplateExpansion
  let row: any RowReader
  let idCell: Int?
  let toCell: Int?

  var id: TextPlace { place(idCell) }
  var destination: TextPlace { place(toCell) }
  var idHint: String {
    row is InventoryReader && !expansion.template.source.text.text.dependsOnEntry
      ? "the inventory names the object twice: leave one of its rows out"
      : "give `for_each` a `key` that differs from row to row"
  }
  var haveRowNeeds: Bool { true }
  var areListed: Bool { false }

  private func place(_ cell: Int?) -> TextPlace {
    expansion.rowPlace(row, cell) ?? TextPlace(expansion.template.destination.text)
  }
}
