package import JobModel

/// The keys of one kind of mapping: the manifest's reader, its hints and its schema come from the same rows.
package struct KeyTable<Value: Sendable>: Sendable, ExpressibleByArrayLiteral {
  package struct Key: Sendable {
    package let name: String
    package let isRequired: Bool
    /// What it says is of each object that is made: a session is told of it when it is opened.
    package private(set) var isOfObject = false
    /// What the manifest's schema says of the value.
    package private(set) var schema: JSON
    /// The keys of the mapping that is its value.
    package let parts: [String]
    fileprivate let read: @Sendable (Fields, inout Value) -> Void
  }
  package let keys: [Key]

  package init(arrayLiteral keys: Key...) { self.keys = keys }
  private init(_ keys: [Key]) { self.keys = keys }

  /// The same with another key.
  package func and(_ key: Key) -> Self { Self(keys + [key]) }

  package var names: [String] { keys.map(\.name) }
  package var required: [String] { keys.filter(\.isRequired).map(\.name) }
  /// The schema's `properties`.
  package var properties: [JSON.Member] { keys.map { JSON.Member($0.name, $0.schema) } }
  /// What the schema says of the mapping.
  package var schema: JSON { KeySchema.mapping(properties, required: required) }

  /// Reads all keys; what is wrong with them goes to the fields' faults.
  package func read(_ fields: Fields, into value: inout Value) {
    for key in keys where key.isRequired { fields.require(key.name) }
    for key in keys { key.read(fields, &value) }
  }
}

extension KeyTable.Key {
  package typealias Path<Property> = any WritableKeyPath<Value, Property> & Sendable

  /// A key with a reader of its own.
  ///
  /// - Parameter parts: the keys of the mapping that is its value.
  package static func own(
    _ name: String, isRequired: Bool = false, parts: [String] = [], schema: JSON,
    _ read: @escaping @Sendable (Fields, inout Value) -> Void
  ) -> Self {
    Self(name: name, isRequired: isRequired, schema: schema, parts: parts, read: read)
  }

  /// A key whose value stays as it was where it is not written.
  private static func value<Property>(
    _ name: String, _ path: Path<Property>, isRequired: Bool = false, schema: JSON,
    _ read: @escaping @Sendable (Fields) -> Property?
  ) -> Self {
    own(name, isRequired: isRequired, schema: schema) { fields, value in
      if let found = read(fields) { value[keyPath: path] = found }
    }
  }

  /// The same, of a property that is nil until the key is written.
  private static func optional<Property>(
    _ name: String, _ path: Path<Property?>, isRequired: Bool = false, schema: JSON,
    _ read: @escaping @Sendable (Fields) -> Property?
  ) -> Self {
    own(name, isRequired: isRequired, schema: schema) { fields, value in
      if let found = read(fields) { value[keyPath: path] = found }
    }
  }

  package static func text(_ name: String, _ path: Path<String>, isRequired: Bool = false) -> Self {
    value(name, path, isRequired: isRequired, schema: KeySchema.text) { $0.text(name) }
  }

  /// The absolute path of a file that requests need, from one that is relative to the manifest's folder.
  package static func file(_ name: String, _ path: Path<String?>) -> Self {
    optional(name, path, schema: KeySchema.text) { fields in
      let file = fields.file(name)
      if let file { fields.scope.uses(.file(file), path: fields.path(name), at: fields.keyMark(name)) }
      return file
    }
  }

  package static func flag(_ name: String, _ path: Path<Bool?>) -> Self {
    optional(name, path, schema: KeySchema.flag) { $0.bool(name) }
  }

  /// A text that is sent as a header's value.
  package static func header(_ name: String, _ path: Path<String?>) -> Self {
    optional(name, path, schema: KeySchema.header) { $0.value(name, HeaderSetting.checked) }
  }

  package static func choice<Choice: RawRepresentable<String> & CaseIterable & Sendable>(
    _ name: String, _ path: Path<Choice>
  ) -> Self {
    value(name, path, schema: KeySchema.choice(Choice.allCases.map(\.rawValue))) { $0.choice(name) }
  }

  package static func choice<Choice: RawRepresentable<String> & CaseIterable & Sendable>(
    _ name: String, _ path: Path<Choice?>, isRequired: Bool = false
  ) -> Self {
    optional(name, path, isRequired: isRequired, schema: KeySchema.choice(Choice.allCases.map(\.rawValue))) {
      fields in
      let choice: Choice? = fields.choice(name)
      return choice
    }
  }

  package static func size(_ name: String, _ path: Path<Int64>) -> Self {
    value(name, path, schema: KeySchema.shared("size")) { $0.size(name) }
  }

  package static func size(_ name: String, _ path: Path<Int64?>, isRequired: Bool = false) -> Self {
    optional(name, path, isRequired: isRequired, schema: KeySchema.shared("size")) {
      $0.size(name)
    }
  }

  /// Seconds.
  package static func duration(_ name: String, _ path: Path<Double?>, allowsZero: Bool = false) -> Self {
    optional(name, path, schema: KeySchema.shared("duration")) {
      $0.duration(name, allowsZero: allowsZero)
    }
  }

  package static func integer(_ name: String, _ range: ClosedRange<Int>, _ path: Path<Int>) -> Self {
    value(name, path, schema: KeySchema.integer(range)) { $0.integer(name, range) }
  }

  package static func integer(_ name: String, _ range: ClosedRange<Int>, _ path: Path<Int?>) -> Self {
    optional(name, path, schema: KeySchema.integer(range)) { $0.integer(name, range) }
  }

  /// A whole number, or `auto`.
  package static func limit(_ name: String, _ range: ClosedRange<Int>, _ path: Path<FlightLimit?>) -> Self {
    optional(name, path, schema: KeySchema.limit(range)) { $0.limit(name, range) }
  }

  /// A mapping of names to texts.
  ///
  /// - Parameters:
  ///   - names: what the schema demands of the names, as a pattern.
  ///   - fault: what is wrong with a name and its value; nil where nothing is.
  package static func texts(
    _ name: String, _ path: Path<[String: String]>, names: String? = nil,
    fault: @escaping @Sendable (_ name: String, _ value: String) -> ValueFault? = { _, _ in nil }
  ) -> Self {
    own(name, schema: KeySchema.texts(names)) { fields, value in
      let values = fields.texts(name) ?? [:]
      for (key, value) in values.sorted(by: { $0.key < $1.key }) {
        if let fault = fault(key, value) { fields.error(fault.message, at: name, hint: fault.hint) }
      }
      value[keyPath: path] = values
    }
  }

  /// A reference to a secret.
  package static func secret(
    _ name: String, _ path: Path<SecretReference?>, isRequired: Bool = false
  ) -> Self {
    own(name, isRequired: isRequired, schema: KeySchema.shared("secret")) { fields, value in
      value[keyPath: path] = SecretRule.read(name, in: fields)
    }
  }

  /// A text that `parse` reads.
  ///
  /// - Parameter pattern: what the schema demands of the text, where it has no `${…}`.
  package static func parsed<Property>(
    _ name: String, _ path: Path<Property>, pattern: String,
    _ parse: @escaping @Sendable (String) throws(ValueFault) -> Property
  ) -> Self {
    value(name, path, schema: KeySchema.matching(pattern)) { $0.value(name, parse) }
  }

  package static func parsed<Property>(
    _ name: String, _ path: Path<Property?>, isRequired: Bool = false, schema: JSON,
    _ parse: @escaping @Sendable (String) throws(ValueFault) -> Property
  ) -> Self {
    optional(name, path, isRequired: isRequired, schema: schema) { $0.value(name, parse) }
  }

  /// A list of texts that `parse` reads.
  package static func list(
    _ name: String, _ path: Path<[String]?>, allowsOne: Bool = false, of item: JSON,
    _ parse: @escaping @Sendable (String) throws(ValueFault) -> String
  ) -> Self {
    optional(name, path, schema: KeySchema.list(of: item, allowsOne: allowsOne)) {
      $0.list(name, allowsOne: allowsOne, parse)
    }
  }

  /// A mapping below this one, with keys of its own.
  ///
  /// - Parameters:
  ///   - shown: the mapping as a message names it; the key without one.
  ///   - check: looks at several keys together.
  package static func part(
    _ name: String, as shown: String? = nil, _ table: KeyTable<Value>,
    check: @escaping @Sendable (_ part: Fields, _ parent: Fields, Value) -> Void = { _, _, _ in }
  ) -> Self {
    let shape = KeyShape(name: "`\(shown ?? name)`", keys: table.names)
    return own(name, parts: table.names, schema: table.schema) { parent, value in
      guard let fields = parent.fields(name, shape) else { return }
      table.read(fields, into: &value)
      check(fields, parent, value)
    }
  }

  /// The same with a sentence in the schema.
  package func described(_ text: String) -> Self { with("description", .string(text)) }

  /// The same, of what is said of each object.
  package var ofObject: Self {
    var key = self
    key.isOfObject = true
    return key
  }

  /// The same with something else that the schema says.
  package func with(_ name: String, _ value: JSON) -> Self {
    var key = self
    key.schema = schema.with(name, value)
    return key
  }
}
