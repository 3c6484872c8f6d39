internal import JobModel
internal import ManifestFields
internal import YAML

/// `bandwidth`: one rate for both ways, or one for each.
enum BandwidthRule {
  /// - Parameter put: takes the rates of both ways.
  static func key<Value>(
    isRequired: Bool = false, _ put: @escaping @Sendable (inout Value, Rate?, Rate?) -> Void
  ) -> KeyTable<Value>.Key {
    .own("bandwidth", isRequired: isRequired, schema: KeySchema.shared("bandwidth")) { fields, value in
      if let rates = read(fields) { put(&value, rates.download, rates.upload) }
    }
  }

  /// A direction that the mapping leaves out is nil.
  private static func read(_ parent: Fields) -> (download: Rate?, upload: Rate?)? {
    guard let node = parent.node("bandwidth") else { return nil }
    guard node.mapping != nil else {
      return parent.value("bandwidth", Units.rate).map { ($0, $0) }
    }
    let shape = KeyShape(name: "`bandwidth`", keys: ["download", "upload"])
    guard let fields = parent.fields("bandwidth", shape) else { return nil }
    if node.mapping?.isEmpty == true { parent.error("`bandwidth` says nothing", at: "bandwidth") }
    return (fields.value("download", Units.rate), fields.value("upload", Units.rate))
  }
}
