internal import Endpoints
internal import JobModel
internal import ManifestFields
internal import YAML

/// One entry of `transfers`: its own keys, merged with the endpoint's and the defaults.
struct TransferRule {
  let scope: Scope
  let endpoints: EndpointTable
  let policies: PolicyTable
  let defaults: TransferLevel

  /// What one entry says.
  struct Entry {
    /// Nil where it can't be planned; everything wrong with it is reported.
    var template: TransferTemplate?
    /// What it needs, known all the same.
    var needs: [MarkedText] = []
    /// The one destination that it names, known all the same.
    var destination: DestinationClaim?
  }

  func read(_ node: YAMLNode, index: Int) -> Entry {
    var entry = Entry()
    entry.template = template(node, index: index, &entry)
    return entry
  }

  private func template(_ node: YAMLNode, index: Int, _ entry: inout Entry) -> TransferTemplate? {
    let before = scope.faults.errorCount
    let name = node["id"]?.scalar?.text ?? "[\(index + 1)]"
    guard let fields = Fields(node, shape: .transfer, path: "transfers.\(name)", scope: scope) else {
      return nil
    }
    fields.require("id", hint: "it is the transfer's identity across runs")
    fields.require("to", hint: "where to: a path, or NAME:PATH of an endpoint")
    let id = fields.value("id", identifier)
    let direction = direction(fields)
    let own = TransferLevel.read(fields, policies: policies)
    entry.needs = own.needs ?? []
    let places = PlaceRule(scope: scope, endpoints: endpoints)
    let destination = places.read("to", in: fields, allowed: [.transfer, .source])
    let source = direction.flatMap { places.read($0.rawValue, in: fields, allowed: .transfer) }
    let level = own.over(defaults)
    own.then?.check(places)
    guard let direction else { return nil }
    misplaced(own, direction, fields)
    guard let destination else { return nil }
    if direction == .download { checkLocal(destination, level, places) }
    guard let source else { return nil }
    let fanOut = FanOutRule(fields: fields, own: own, level: level, endpoints: endpoints)
      .read(direction, source, destination)
    places.check(direction, source, destination, fields)
    if let fanOut { references(level, source, destination, fanOut, fields) }
    let settings = SettingsRule(endpoints: endpoints, defaults: defaults, own: own, level: level)
    settings.checkAbilities(direction, destination, scope: scope)
    AttributesCheck(fields: fields, own: own, level: level, endpoints: endpoints)
      .check(direction, source, destination)
    guard let id, let fanOut, let idMark = fields.node("id")?.mark else { return nil }
    if fanOut == .single, !fields.has("for_each"), level.settings[.enabled]?.text.literal != "false" {
      entry.destination = DestinationClaim(
        id: id, mark: scope.faults.sourceMark(idMark), direction: direction, source: source,
        destination: destination)
    }
    guard scope.faults.errorCount == before,
      settings.endpointsAreWhole(direction.writesRemote ? destination : source),
      direction != .copy || settings.endpointsAreWhole(source)
    else { return nil }
    var template = TransferTemplate(
      id: id, mark: scope.faults.sourceMark(idMark), lineText: scope.faults.lineText(idMark) ?? "",
      direction: direction, source: unescaped(source, fanOut), destination: destination, fanOut: fanOut,
      settings: settings.byEndpoint(direction, remote: direction.writesRemote ? destination : source),
      rowSettings: settings.rowSettings(direction), headers: settings.rowHeaders,
      needs: level.needs ?? [], expect: level.expect)
    if direction.writesRemote {
      template.attributes = level.attributeItems.filter { $0.value.text.literal == nil }
      template.ownGiven = Set(GivenKey.allCases.filter(own.gives))
    }
    attach(level, settings, &template)
    if direction == .copy { template.sourceSettings = settings.byEndpoint(direction, remote: source) }
    return template
  }

  /// Where a download may not go.
  private func checkLocal(_ destination: PlaceTemplate, _ level: TransferLevel, _ places: PlaceRule) {
    places.refusePartName(destination)
    let outside = level.settings[.allowsOutside]
    if outside == nil || outside?.text.literal == "false" { places.confine(destination) }
  }

  /// What every entry says of `then` is one of the settings; what rows decide waits for them.
  private func attach(_ level: TransferLevel, _ rule: SettingsRule, _ template: inout TransferTemplate) {
    guard let entry = level.then?.entry(rule, template.direction) else { return }
    template.then = entry
    guard let common = entry.common else { return }
    template.settings = template.settings.mapValues { $0.attaching(common) }
  }

  private func identifier(_ text: String) throws(ValueFault) -> String {
    guard !text.isEmpty, text.utf8.allSatisfy(PercentEncoding.isIDByte) else {
      throw ValueFault("`\(text)` is not an id", hint: "letters, digits, `.`, `_`, `/` and `-`")
    }
    return text
  }

  private func direction(_ fields: Fields) -> Verb? {
    for key in Verb.allCases.map(\.rawValue) where fields.node(key)?.sequence != nil {
      fields.error(
        "a list as a source is reserved for a later version", at: key,
        hint: "write one transfer each, or a glob")
    }
    let named = Verb.allCases.filter { fields.has($0.rawValue) }
    guard let verb = named.first else {
      fields.scope.faults.error(
        "a transfer needs `download`, `upload` or `copy`", at: fields.mark, hint: "download: NAME:PATH")
      return nil
    }
    guard named.count == 1 else {
      let later = named.compactMap { fields.keyMark($0.rawValue) }.max()
      let words = named.map { "`\($0.rawValue)`" }.joined(separator: " or ")
      scope.faults.error("a transfer has \(words), not both", at: later, hint: "write two transfers")
      return nil
    }
    return fields.node(verb.rawValue)?.sequence == nil ? verb : nil
  }

  /// A setting of the other direction: in `defaults` it waits for the transfers that it is for.
  private func misplaced(_ own: TransferLevel, _ direction: Verb, _ fields: Fields) {
    for setting in own.settings.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
      guard !setting.verbs.contains(direction) else { continue }
      scope.faults.error(
        "`\(setting.rawValue)` is for \(Self.plural(setting.verbs)), and this is \(direction == .upload ? "an" : "a") \(direction)",
        at: fields.keyMark(setting.rawValue), hint: "leave it out")
    }
  }

  private static func plural(_ verbs: [Verb]) -> String {
    verbs.map { $0 == .copy ? "copies" : "\($0.rawValue)s" }.joined(separator: " and ")
  }

  /// Columns only where there are rows.
  private func references(
    _ level: TransferLevel, _ source: PlaceTemplate, _ destination: PlaceTemplate, _ fanOut: FanOut,
    _ fields: Fields
  ) {
    var texts =
      [source.text, destination.text] + level.expect.values + level.settings.values + (level.needs ?? [])
    texts += level.attributeItems.map(\.value) + (level.then?.texts ?? []) + level.headers.compactMap(\.text)
    for text in texts {
      for reference in text.text.references {
        switch (reference.name, fanOut) {
        case (.column, .rows): continue
        // What is wrong with those is told.
        case (.column, _) where fields.has("for_each"): continue
        case (.column, _):
          scope.faults.error(
            "`${\(reference.name.text)}` without `for_each`", at: text.mark,
            hint: "a column needs rows: add `for_each`")
        case (.source, .single):
          scope.faults.error(
            "`${\(reference.name.text)}` belongs into `to` of a fan-out", at: text.mark,
            hint: "write the name, or end `to` in `/` to keep the source's")
        default: continue
        }
      }
    }
  }

  /// `\[` in the path of a single file stands for `[`.
  private func unescaped(_ place: PlaceTemplate, _ fanOut: FanOut) -> PlaceTemplate {
    guard case .local = place.kind, case .single = fanOut else { return place }
    var result = place
    result.text.text.parts = place.text.text.parts.map { part in
      if case .literal(let text) = part { .literal(GlobPattern.unescape(text)) } else { part }
    }
    return result
  }
}
