/// Sizes, rates and durations as manifests and command lines write them.
package enum Units {
  /// Bytes: `1048576`, `4MiB` (1024²), `4MB` (1000²), with K, M, G or T.
  package static func size(_ text: String) throws(ValueFault) -> Int64 {
    if text.utf8.allSatisfy(isDigit), let bytes = Int64(text) { return bytes }
    let (digits, unit) = split(text)
    guard let factor = sizeFactors[String(unit)], let bytes = scaled(digits, by: factor) else {
      throw ValueFault(
        "`\(text)` is not a size",
        hint: unitHint(text) ?? "a size is bytes as a whole number, or like `4MiB` (1024²) or `4MB` (1000²)")
    }
    return bytes
  }

  /// Bytes a second: a size and `/s`, or `unlimited`.
  package static func rate(_ text: String) throws(ValueFault) -> Rate {
    if text == "unlimited" { return .unlimited }
    let form = "a rate is a size and `/s`, like `20MB/s`, or `unlimited`"
    guard text.hasSuffix("/s") else { throw ValueFault("`\(text)` is not a rate", hint: form) }
    let size = String(text.dropLast(2))
    guard let bytes = try? Self.size(size) else {
      throw ValueFault("`\(text)` is not a rate", hint: unitHint(size, behind: "/s") ?? form)
    }
    guard bytes >= 1 else { throw ValueFault("a rate must be at least 1 byte a second", hint: form) }
    return .bytesPerSecond(bytes)
  }

  /// Seconds: `500ms`, `30s`, `5m`, `6h`, `2d`.
  package static func duration(_ text: String) throws(ValueFault) -> Double {
    let (digits, unit) = split(text)
    guard let factor = durationFactors[String(unit)], let count = decimal(digits) else {
      throw ValueFault(
        "`\(text)` is not a duration",
        hint: "a duration is a number and a unit: `500ms`, `30s`, `5m`, `6h` or `2d`")
    }
    let seconds = count * factor
    guard seconds <= 100 * 366 * 86400 else { throw ValueFault("`\(text)` is longer than a century") }
    return seconds
  }

  /// A decimal number without sign, exponent or group marks.
  package static func decimal(_ text: some StringProtocol) -> Double? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count <= 2, parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(isDigit) }) else {
      return nil
    }
    return Double(String(text))
  }

  /// A whole decimal number, with an optional `-`.
  package static func integer(_ text: String) -> Int64? {
    let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
    guard !digits.isEmpty, digits.utf8.allSatisfy(isDigit) else { return nil }
    return Int64(text)
  }

  private static let sizeFactors: [String: Int64] = [
    "": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
    "KB": 1000, "MB": 1_000_000, "GB": 1_000_000_000, "TB": 1_000_000_000_000,
  ]

  private static let durationFactors: [String: Double] = [
    "ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400,
  ]

  private static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

  private static func split(_ text: String) -> (digits: Substring, unit: Substring) {
    let digits = text.prefix { $0 == "." || ($0.isASCII && $0.isNumber) }
    return (digits, text[digits.endIndex...])
  }

  /// Nil where the digits are no number, the product is no whole number of bytes, or it overflows.
  private static func scaled(_ digits: Substring, by factor: Int64) -> Int64? {
    if let whole = integer(String(digits)) {
      let (product, overflow) = whole.multipliedReportingOverflow(by: factor)
      return overflow ? nil : product
    }
    guard factor > 1, let number = decimal(digits) else { return nil }
    let product = number * Double(factor)
    guard product < 9e18 else { return nil }
    return Int64(product.rounded())
  }

  /// The two units that a letter may mean; nil where the unit is none of ours, or a right one.
  private static func unitHint(_ text: String, behind end: String = "") -> String? {
    let (number, unit) = split(text)
    let letter = unit.first { !$0.isWhitespace }?.uppercased() ?? ""
    let looksLikeUnit = unit.allSatisfy { "kmgtib ".contains($0.lowercased()) }
    guard ["K", "M", "G", "T"].contains(letter), looksLikeUnit, sizeFactors[String(unit)] == nil else {
      return nil
    }
    return "write `\(number)\(letter)iB\(end)` (1024s) or `\(number)\(letter)B\(end)` (1000s)"
  }
}
