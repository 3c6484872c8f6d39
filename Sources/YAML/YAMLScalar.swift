/// A scalar as written: its text, and whether it stood without quotes.
package struct YAMLScalar: Sendable, Hashable {
  package var text: String
  /// Without quotes, not a block scalar and not tagged `!!str`: only such a scalar can be other than text.
  package var isPlain: Bool

  package init(text: String, isPlain: Bool) {
    self.text = text
    self.isPlain = isPlain
  }

  /// What the scalar is where no key decides (YAML 1.2, core schema, 10.3.2).
  package var core: CoreValue {
    guard isPlain else { return .text(text) }
    switch text {
    case "", "~", "null", "Null", "NULL": return .null
    case "true", "True", "TRUE": return .bool(true)
    case "false", "False", "FALSE": return .bool(false)
    default: break
    }
    if let integer = Self.integer(text) { return .integer(integer) }
    if let number = Self.number(text) { return .number(number) }
    return .text(text)
  }

  /// A plain scalar with nothing in it: the key has no value.
  package var isMissing: Bool { isPlain && text.isEmpty }

  private static func integer(_ text: String) -> Int64? {
    if text.hasPrefix("0o") { return digits(text.dropFirst(2), radix: 8) }
    if text.hasPrefix("0x") { return digits(text.dropFirst(2), radix: 16) }
    let body = text.hasPrefix("-") || text.hasPrefix("+") ? text.dropFirst() : text[...]
    guard !body.isEmpty, body.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
    return Int64(text)
  }

  private static func digits(_ text: Substring, radix: Int) -> Int64? {
    guard let first = text.first, first != "-", first != "+" else { return nil }
    return Int64(text, radix: radix)
  }

  private static func number(_ text: String) -> Double? {
    let unsigned = text.hasPrefix("-") || text.hasPrefix("+") ? text.dropFirst() : text[...]
    switch unsigned {
    case ".inf", ".Inf", ".INF": return text.hasPrefix("-") ? -.infinity : .infinity
    default: break
    }
    if [".nan", ".NaN", ".NAN"].contains(text) { return .nan }
    // Swift's own parser also takes hexadecimal floats, `inf` and `nan`, which the core schema does not.
    guard unsigned.contains(where: { $0.isASCII && $0.isNumber }),
      unsigned.allSatisfy({ ($0.isASCII && $0.isNumber) || ".eE+-".contains($0) }),
      unsigned.first != "e", unsigned.first != "E"
    else { return nil }
    return Double(text)
  }
}

/// The kinds of value of YAML 1.2's core schema.
package enum CoreValue: Sendable, Hashable {
  case null
  case bool(Bool)
  case integer(Int64)
  case number(Double)
  case text(String)
}
