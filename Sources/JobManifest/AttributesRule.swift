internal import Endpoints
internal import JobModel
internal import ManifestFields
internal import YAML

/// `preserve`, `metadata` and `tags`: what goes along with the bytes, and what an object is given.
enum AttributesRule {
  /// With the place of its value.
  static func preserve(_ fields: Fields) -> MarkedRule? {
    guard let items = fields.items("preserve", allowsOne: true), let mark = fields.node("preserve")?.mark
    else {
      return nil
    }
    var (words, rule) = ([String](), PreserveRule.none)
    for item in items {
      guard let scalar = item.scalar, !scalar.isMissing else {
        fields.scope.faults.error(Fields.wrongType(item, wanted: "text", key: "preserve"), at: item.mark)
        return nil
      }
      guard
        let word = fields.scope.interpolate(
          scalar.text, at: item.mark, allowed: .settled, key: "preserve")?.literal
      else { return nil }
      words.append(word)
      do throws(ValueFault) {
        // With those before it: a fault is marked at its own word.
        rule = try PreserveRule(words)
      } catch {
        fields.scope.faults.error(error, at: item.mark)
        return nil
      }
    }
    return MarkedRule(rule: rule, mark: mark)
  }

  /// The items of `metadata` or `tags`, by name.
  static func items(_ key: GivenKey, _ fields: Fields) -> [String: AttributeTemplate]? {
    guard let node = fields.node(key.rawValue) else { return nil }
    guard let mapping = node.mapping else {
      fields.error(Fields.wrongType(node, wanted: "a mapping", key: key.rawValue), at: key.rawValue)
      return nil
    }
    var items: [String: AttributeTemplate] = [:]
    for entry in mapping {
      let faults = fields.scope.faults
      guard let scalar = entry.value.scalar, !scalar.isMissing else {
        faults.error(
          Fields.wrongType(entry.value, wanted: "text", key: entry.key), at: entry.value.mark)
        continue
      }
      if let fault = AttributeTemplate.fault(key, entry.key, "") {
        faults.error(fault, at: entry.keyMark)
        continue
      }
      guard
        let value = fields.marked(
          scalar.text, at: entry.value.mark, allowed: .transfer, key: "\(key.rawValue).\(entry.key)")
      else { continue }
      if let literal = value.text.literal, let fault = AttributeTemplate.fault(key, entry.key, literal) {
        faults.error(fault, at: entry.value.mark)
        continue
      }
      // Names of metadata are headers' names, which know no case.
      let name = key == .metadata ? entry.key.lowercased() : entry.key
      let item = AttributeTemplate(key, name: name, value: value)
      if items.updateValue(item, forKey: name) != nil {
        faults.error("`\(entry.key)` is in `\(key.rawValue)` twice, but for its case", at: entry.keyMark)
      }
    }
    return items
  }
}

/// `preserve` and where it is written.
struct MarkedRule {
  var rule: PreserveRule
  var mark: YAMLMark
}

/// Whether what a transfer gives and preserves fits its ends.
struct AttributesCheck {
  let fields: Fields
  let own: TransferLevel
  let level: TransferLevel
  let endpoints: EndpointTable

  func check(_ verb: Verb, _ source: PlaceTemplate, _ destination: PlaceTemplate) {
    checkGiven(verb, destination)
    warnOfLoss(verb, source, destination)
  }

  /// What stands in `defaults` waits for the transfers that take it.
  private func checkGiven(_ verb: Verb, _ destination: PlaceTemplate) {
    for key in GivenKey.allCases where own.gives(key) {
      let mark = fields.keyMark(key.rawValue)
      guard verb.writesRemote else {
        // A scalar of the other direction is reported with the other settings.
        if key != .storageClass {
          fields.scope.faults.error(
            "`\(key.rawValue)` is for uploads and copies, and this is a download", at: mark,
            hint: "leave it out")
        }
        continue
      }
      guard let driver = driver(destination), !driver.abilities.takes.contains(key) else { continue }
      fields.scope.faults.error(
        "`\(key.rawValue)` is not taken by `\(driver.word)` destinations", at: mark, hint: "leave it out")
    }
  }

  /// What is demanded and can never be kept fails each time.
  private func warnOfLoss(_ verb: Verb, _ source: PlaceTemplate, _ destination: PlaceTemplate) {
    guard let marked = level.preserve else { return }
    let told = verb.readsRemote ? driver(source)?.abilities.tells : LocalAttributes.tells
    let kept = verb.writesRemote ? driver(destination)?.abilities.keeps : LocalAttributes.keeps
    for attribute in marked.rule.demanded.inOrder {
      let lacks: String
      if let told, !told.contains(attribute) {
        lacks = "the source tells none"
      } else if let kept, !kept.contains(attribute) {
        lacks = "the destination has no place for it"
      } else {
        continue
      }
      fields.scope.faults.warning(
        "`\(attribute.rawValue)!` can't be kept, as \(lacks): the transfer will fail with \(ErrorCode.attributesLost.rawValue)",
        at: marked.mark, hint: "take the `!` off, or leave it out")
    }
  }

  /// Nil where rows decide.
  private func driver(_ place: PlaceTemplate) -> (any EndpointDriver)? {
    switch place.kind {
    case .remote(let name): endpoints.named[name]?.driver
    case .url: EndpointRegistry.web
    case .local, .undecided: nil
    }
  }
}
