internal import Endpoints
internal import JobModel
internal import ManifestFields
internal import YAML

/// How an entry fans out, and whether its keys fit together for that.
struct FanOutRule {
  let fields: Fields
  let own: TransferLevel
  let level: TransferLevel
  let endpoints: EndpointTable

  func read(_ direction: Verb, _ source: PlaceTemplate, _ destination: PlaceTemplate) -> FanOut? {
    let isGlob = direction == .upload && isLocal(source) && hasPattern(source.text.text)
    let rule = level.ifEmpty ?? .fail
    if let rows = level.rows, rows.format == .inventory {
      return inventory(rows, direction, source, destination).map { .rows($0, rule) }
    }
    if let rows = level.rows {
      refuse(["include", "exclude"], "is for globs and remote prefixes")
      refuse(["where"], "is for globs and remote prefixes: nothing tells the size or the time of a row")
      if isGlob {
        fields.scope.faults.error(
          "a glob and `for_each` in one transfer", at: source.text.mark,
          hint: "name one file a row; `\\*`, `\\?`, `\\[` and `\\{` are the characters themselves")
        return nil
      }
      return checked(rows, destination) ? .rows(rows, rule) : nil
    }
    let filter = EntryFilter(
      include: level.include ?? [], exclude: level.exclude ?? [], bounds: level.bounds)
    if isGlob {
      guard checkedGlob(source.text), keepsNames(destination) else { return nil }
      return .glob(filter, rule)
    }
    if direction.readsRemote, isPrefix(source) {
      guard keepsNames(destination) else { return nil }
      return .prefix(filter, rule)
    }
    refuse(["include", "exclude", "if_empty", "where"], "is for fan-outs, and this is one file")
    return .single
  }

  /// An inventory stands for the listing of the source's prefix, or its rows name the sources.
  private func inventory(
    _ rows: RowSource, _ direction: Verb, _ source: PlaceTemplate, _ destination: PlaceTemplate
  ) -> RowSource? {
    if case .remote(let name) = source.kind, !endpoints.isDeclared(name) { return nil }
    guard direction.readsRemote, case .remote(let name) = source.kind,
      endpoints.named[name]?.driver.abilities.hasInventories == true
    else {
      fields.scope.faults.error(
        "an inventory is of an S3 bucket, and `\(source.text.text.written)` is in none", at: source.text.mark,
        hint: "download or copy from an endpoint of type `s3`")
      return nil
    }
    if source.text.text.dependsOnEntry {
      refuse(["include", "exclude", "where"], "is for an inventory whose source is a prefix")
      return checked(rows, destination) ? rows : nil
    }
    guard isPrefix(source) else {
      fields.scope.faults.error(
        "every object of the inventory would have this one source", at: source.text.mark,
        hint: "end it in `/` for what lies below, or write `\(name):${each.key}`")
      return nil
    }
    if let key = rows.key {
      fields.scope.faults.error(
        "`key` is not for an inventory whose source is a prefix", at: key.mark,
        hint: "leave it out: ids are made of the objects' keys")
      return nil
    }
    guard keepsNames(destination) else { return nil }
    var rows = rows
    rows.filter = EntryFilter(
      include: level.include ?? [], exclude: level.exclude ?? [], bounds: level.bounds)
    return rows
  }

  private func isLocal(_ place: PlaceTemplate) -> Bool {
    switch place.kind {
    case .local, .undecided: true
    case .remote, .url: false
    }
  }

  private func hasPattern(_ text: InterpolatedText) -> Bool {
    text.parts.contains { part in
      if case .literal(let literal) = part { GlobPattern.isPattern(literal) } else { false }
    }
  }

  private func isPrefix(_ source: PlaceTemplate) -> Bool {
    guard case .remote(let name) = source.kind else { return false }
    if source.text.text.endsInSlash { return true }
    return source.text.text.parts.isEmpty && endpoints.named[name]?.driver.abilities.lists == true
  }

  private func refuse(_ keys: [String], _ reason: String) {
    for key in keys where fields.has(key) {
      fields.scope.faults.error("`\(key)` \(reason)", at: fields.keyMark(key), hint: "leave it out")
    }
  }

  private func checkedGlob(_ text: MarkedText) -> Bool {
    guard let literal = text.text.literal else { return true }
    do {
      _ = try GlobPattern(literal)
      return true
    } catch {
      fields.scope.faults.error(error, at: text.mark)
      return false
    }
  }

  /// Many files need many names.
  private func keepsNames(_ destination: PlaceTemplate) -> Bool {
    let text = destination.text.text
    let isFolder = text.endsInSlash || (text.parts.isEmpty && destination.kind != .local)
    let isLocalFolder = text.literal.map(RelativePath.namesFolder) ?? false
    let names = text.references.contains { reference in
      switch reference.name {
      case .source, .uuid: true
      default: false
      }
    }
    if isFolder || isLocalFolder || names { return true }
    fields.scope.faults.error(
      "every file would land at this one destination", at: destination.text.mark,
      hint: "end it in `/` to keep the names, or use `${source.path}`")
    return false
  }

  /// The id of a row's transfer must be the row's own, and the same in every run.
  private func checked(_ rows: RowSource, _ destination: PlaceTemplate) -> Bool {
    guard let key = rows.key else {
      let names = destination.text.text.references.map(\.name)
      let hint = "add `key: \"${each.COLUMN}\"` to `for_each`"
      if names.contains(.uuid) {
        fields.scope.faults.error(
          "`${uuid}` in `to` needs a `key`: the id is made of one of them", at: destination.text.mark,
          hint: hint)
        return false
      }
      let isOfRow = names.contains { name in
        switch name {
        case .column, .source: true
        default: false
        }
      }
      if !isOfRow {
        fields.scope.faults.error(
          "every row would have one id, as `to` is the same for all", at: destination.text.mark,
          hint: hint)
      }
      return isOfRow
    }
    guard key.text.dependsOnEntry else {
      fields.scope.faults.error(
        "every row would have one id, as `key` is the same for all", at: key.mark,
        hint: "name a column: \"${each.COLUMN}\"")
      return false
    }
    return true
  }
}
