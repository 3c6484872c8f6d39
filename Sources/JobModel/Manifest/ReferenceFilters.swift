/// What a reference's filters make of a value.
extension InterpolatedText.Reference {
  /// The text of `|default(x)`, if it has one.
  package var fallback: String? {
    for case .fallback(let text) in filters { return text }
    return nil
  }

  /// The value through all filters. An empty one without a default is a fault, before them and behind them.
  package func filtered(_ value: String, what: @autoclosure () -> String) throws(ValueFault) -> String {
    if value.isEmpty, fallback == nil {
      throw ValueFault(
        "\(what()) is empty or not set", hint: "give it a value, or write `${\(name.text)|default(x)}`")
    }
    if filters.isEmpty { return value }
    var result = value
    for filter in filters {
      switch filter {
      case .fallback(let text): if result.isEmpty { result = text }
      case .basename: result = RelativePath.baseName(URLRule.withoutQuery(result))
      case .url: result = Self.percentEncoded(result)
      }
    }
    // `|default()` says that it may be.
    guard !result.isEmpty || fallback == "" else {
      throw ValueFault(
        "`|basename` of `\(name.text)` is empty: the value ends in `/`",
        hint: "give it a value that ends in a name, or write `${\(name.text)|basename|default(x)}`")
    }
    return result
  }

  /// Everything but RFC 3986's unreserved characters, in UTF-8.
  private static func percentEncoded(_ text: String) -> String {
    PercentEncoding.encode(text) { byte in PercentEncoding.isAlphanumeric(byte) || "-._~".utf8.contains(byte)
    }
  }
}
