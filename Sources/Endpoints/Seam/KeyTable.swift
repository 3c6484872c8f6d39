package import JobModel
internal import ManifestFields

/// The keys that a kind of endpoint has besides those of all: the manifest's reader, its hints and its schema come from
/// the same rows.
package struct KeyTable<Driver: Sendable>: Sendable, ExpressibleByArrayLiteral {
  package struct Key: Sendable {
    package let name: String
    package let isRequired: Bool
    /// What the manifest's schema says of the value.
    package let schema: JSON
    fileprivate let read: @Sendable (Fields, inout Driver) -> Void
  }
  package let keys: [Key]

  package init(arrayLiteral keys: Key...) { self.keys = keys }

  /// Reads all keys; what is wrong with them goes to the fields' faults.
  func read(_ fields: Fields, into driver: inout Driver) {
    for key in keys where key.isRequired { fields.require(key.name) }
    for key in keys { key.read(fields, &driver) }
  }
}

extension KeyTable.Key {
  package typealias Path<Value> = any WritableKeyPath<Driver, Value> & Sendable

  package static func text(_ name: String, _ path: Path<String>, isRequired: Bool = false) -> Self {
    Self(name: name, isRequired: isRequired, schema: KeySchema.text) { fields, driver in
      if let value = fields.text(name) { driver[keyPath: path] = value }
    }
  }

  /// A text that is sent as a header's value.
  package static func header(_ name: String, _ path: Path<String?>) -> Self {
    Self(name: name, isRequired: false, schema: KeySchema.header) { fields, driver in
      driver[keyPath: path] = fields.value(name, HeaderSetting.checked)
    }
  }

  package static func choice<Choice: RawRepresentable<String> & CaseIterable & Sendable>(
    _ name: String, _ path: Path<Choice>
  ) -> Self {
    Self(name: name, isRequired: false, schema: KeySchema.choice(Choice.allCases.map(\.rawValue))) {
      if let value: Choice = $0.choice(name) { $1[keyPath: path] = value }
    }
  }

  package static func size(_ name: String, _ path: Path<Int64>) -> Self {
    Self(name: name, isRequired: false, schema: KeySchema.size) { fields, driver in
      if let value = fields.size(name) { driver[keyPath: path] = value }
    }
  }

  package static func integer(_ name: String, _ range: ClosedRange<Int>, _ path: Path<Int>) -> Self {
    Self(name: name, isRequired: false, schema: KeySchema.integer(range)) { fields, driver in
      if let value = fields.integer(name, range) { driver[keyPath: path] = value }
    }
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
    Self(name: name, isRequired: false, schema: KeySchema.texts(names)) { fields, driver in
      let values = fields.texts(name) ?? [:]
      for (key, value) in values.sorted(by: { $0.key < $1.key }) {
        if let fault = fault(key, value) { fields.error(fault.message, at: name, hint: fault.hint) }
      }
      driver[keyPath: path] = values
    }
  }

  /// A reference to a secret.
  package static func secret(
    _ name: String, _ path: Path<SecretReference?>, isRequired: Bool = false
  ) -> Self {
    Self(name: name, isRequired: isRequired, schema: KeySchema.secret) { fields, driver in
      driver[keyPath: path] = SecretRule.read(name, in: fields)
    }
  }

  /// A text that `parse` reads.
  ///
  /// - Parameter pattern: what the schema demands of the text, where it has no `${…}`.
  package static func parsed<Value>(
    _ name: String, _ path: Path<Value>, pattern: String,
    _ parse: @escaping @Sendable (String) throws(ValueFault) -> Value
  ) -> Self {
    Self(name: name, isRequired: false, schema: KeySchema.matching(pattern)) { fields, driver in
      if let value = fields.value(name, parse) { driver[keyPath: path] = value }
    }
  }
}
