/// What a transfer itself says of the object that it makes: `metadata`, `tags`, `storage_class`.
package struct GivenAttributes: Sendable, Hashable {
  /// Names in lower case.
  package var metadata: [String: String] = [:]
  package var tags: [String: String] = [:]
  package var storageClass: String?
  /// What of these, and of the content type, has a value from the environment, as it is written: by `metadata.owner`,
  /// `content_type`. Another value is no other manifest.
  package var written: [String: String] = [:]

  package init() {}

  package var isEmpty: Bool { self == GivenAttributes() }

  /// The keys that say something.
  package var keys: Set<GivenKey> {
    var keys: Set<GivenKey> = []
    if !metadata.isEmpty { keys.insert(.metadata) }
    if !tags.isEmpty { keys.insert(.tags) }
    if storageClass != nil { keys.insert(.storageClass) }
    return keys
  }

  package mutating func remove(_ key: GivenKey) {
    switch key {
    case .metadata: metadata = [:]
    case .tags: tags = [:]
    case .storageClass: storageClass = nil
    }
    written = written.filter { !$0.key.hasPrefix(key.rawValue) }
  }
}

/// A key of a transfer that gives its object something.
package enum GivenKey: String, Sendable, Hashable, CaseIterable {
  case metadata, tags
  case storageClass = "storage_class"
}

/// An item of `metadata` or `tags`, whose value may differ from row to row.
package struct AttributeTemplate: Sendable, Hashable {
  package var key: GivenKey
  package var name: String
  package var value: MarkedText

  package init(_ key: GivenKey, name: String, value: MarkedText) {
    self.key = key
    self.name = name
    self.value = value
  }

  package func apply(_ text: String, to given: inout GivenAttributes) throws(ValueFault) {
    if let fault = Self.fault(key, name, text) { throw fault }
    given.written["\(key.rawValue).\(name)"] = value.written
    switch key {
    case .metadata: given.metadata[name] = text
    case .tags: given.tags[name] = text
    case .storageClass: given.storageClass = text
    }
  }

  /// Why a name and a value can't be sent; nil where they can.
  package static func fault(_ key: GivenKey, _ name: String, _ value: String) -> ValueFault? {
    switch key {
    case .metadata:
      HeaderSetting.isToken(name) && HeaderSetting.isSafe(value: value)
        ? nil : ValueFault("the metadata `\(name)` can't be sent as a header")
    case .tags:
      name.isEmpty ? ValueFault("a tag has a name") : nil
    case .storageClass:
      HeaderSetting.isSafe(value: value) && !value.isEmpty
        ? nil : ValueFault("`\(value)` is not a storage class", hint: "like `STANDARD_IA`")
    }
  }
}
