internal import JobModel
internal import ManifestFields
internal import YAML

/// What a transfer, or `defaults`, says: every key optional, nothing merged yet.
struct TransferLevel {
  var settings: [ScalarSetting: MarkedText] = [:]
  var policy: PolicyReference?
  var expect: [ExpectationKey: MarkedText] = [:]
  var headers: [HeaderTemplate] = []
  var needs: [MarkedText]?
  var then: ThenLevel?
  var rows: RowSource?
  var include: [GlobPattern]?
  var exclude: [GlobPattern]?
  var ifEmpty: EmptyRule?
  var bounds: EntryBounds?
  var preserve: MarkedRule?
  /// Items of `metadata` and `tags`, by name; nil where the key is not written.
  var attributes: [GivenKey: [String: AttributeTemplate]] = [:]

  static func read(_ fields: Fields, policies: PolicyTable) -> TransferLevel {
    var level = TransferLevel()
    for setting in ScalarSetting.allCases {
      guard let value = fields.marked(setting.rawValue, allowed: .transfer) else { continue }
      if let literal = value.text.literal {
        var scratch = TransferSettings(direction: .download)
        guard
          check(
            fields, setting.rawValue, { () throws(ValueFault) in try setting.apply(literal, to: &scratch) })
        else { continue }
      }
      level.settings[setting] = value
    }
    level.policy = PolicyReference.read(fields, policies: policies)
    level.expect = expect(fields)
    level.headers = HeaderRule.read(fields, allowed: [.run, .row, .uuid])
    level.needs = needs(fields)
    level.then = ThenRule.read(fields)
    level.rows = ForEachRule.read(fields)
    level.include = fields.list("include", allowsOne: true, EntryFilter.pattern)
    level.exclude = fields.list("exclude", allowsOne: true, EntryFilter.pattern)
    level.ifEmpty = fields.choice("if_empty")
    level.bounds = WhereRule.read(fields)
    level.preserve = AttributesRule.preserve(fields)
    for key in [GivenKey.metadata, .tags] { level.attributes[key] = AttributesRule.items(key, fields) }
    return level
  }

  /// This level over a lower one, key by key.
  func over(_ lower: TransferLevel) -> TransferLevel {
    var merged = self
    merged.settings.merge(lower.settings) { upper, _ in upper }
    merged.expect.merge(lower.expect) { upper, _ in upper }
    merged.needs = needs ?? lower.needs
    merged.then = then ?? lower.then
    merged.rows = rows ?? lower.rows
    merged.include = include ?? lower.include
    merged.exclude = exclude ?? lower.exclude
    merged.ifEmpty = ifEmpty ?? lower.ifEmpty
    merged.bounds = bounds ?? lower.bounds
    merged.preserve = preserve ?? lower.preserve
    merged.attributes.merge(lower.attributes) { $0.merging($1) { upper, _ in upper } }
    return merged
  }

  /// Says something under a key that gives an object something.
  func gives(_ key: GivenKey) -> Bool {
    key == .storageClass ? settings[.storageClass] != nil : attributes[key] != nil
  }

  /// All items of `metadata` and `tags`, in an order that is always the same.
  var attributeItems: [AttributeTemplate] {
    GivenKey.allCases.flatMap { key in (attributes[key] ?? [:]).values.sorted { $0.name < $1.name } }
  }

  private static func check(_ fields: Fields, _ key: String, _ body: () throws(ValueFault) -> Void) -> Bool {
    do {
      try body()
      return true
    } catch {
      fields.error(error.message, at: key, hint: error.hint)
      return false
    }
  }

  private static func expect(_ parent: Fields) -> [ExpectationKey: MarkedText] {
    guard let fields = parent.fields("expect", .expect) else { return [:] }
    var result: [ExpectationKey: MarkedText] = [:]
    for key in ExpectationKey.all {
      guard let value = fields.marked(key.word, allowed: .transfer) else { continue }
      if let literal = value.text.literal {
        var scratch = Expectation()
        guard check(fields, key.word, { () throws(ValueFault) in try key.apply(literal, to: &scratch) })
        else { continue }
      }
      result[key] = value
    }
    return result
  }

  private static func needs(_ fields: Fields) -> [MarkedText]? {
    fields.items("needs", allowsOne: true)?.compactMap { item -> MarkedText? in
      guard let scalar = item.scalar, !scalar.isMissing else {
        fields.scope.faults.error(Fields.wrongType(item, wanted: "text", key: "needs"), at: item.mark)
        return nil
      }
      guard let value = fields.marked(scalar.text, at: item.mark, allowed: .transfer, key: "needs") else {
        return nil
      }
      if let literal = value.text.literal {
        do throws(ValueFault) {
          _ = try GlobPattern(literal)
        } catch {
          fields.scope.faults.error(error, at: item.mark)
          return nil
        }
      }
      return value
    }
  }
}
