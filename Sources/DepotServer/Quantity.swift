/// The words of the command line for amounts: `16MiB`, `24h`.
package enum Quantity {
  /// Bytes: a whole number with an optional `B`, `K`/`KB`, `KiB`, `MB`, `MiB`, `GB`, `GiB`.
  package static func bytes(_ text: String) -> Int? {
    let units = [
      "": 1, "B": 1, "K": 1000, "KB": 1000, "KiB": 1 << 10, "M": 1_000_000, "MB": 1_000_000,
      "MiB": 1 << 20, "G": 1_000_000_000, "GB": 1_000_000_000, "GiB": 1 << 30,
    ]
    guard let (amount, unit) = split(text), let factor = units[unit] else { return nil }
    let (product, overflow) = amount.multipliedReportingOverflow(by: factor)
    return overflow ? nil : product
  }

  /// A duration: a whole number with `ms`, `s`, `m`, `h` or `d`.
  package static func duration(_ text: String) -> Duration? {
    let units = ["ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000]
    guard let (amount, unit) = split(text), let factor = units[unit] else { return nil }
    let (product, overflow) = amount.multipliedReportingOverflow(by: factor)
    return overflow ? nil : .milliseconds(product)
  }

  private static func split(_ text: String) -> (Int, String)? {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    guard let amount = Int(digits) else { return nil }
    return (amount, String(text.dropFirst(digits.count)))
  }
}

extension Duration {
  /// Whole milliseconds, rounded down.
  var milliseconds: Int {
    Int(components.seconds) * 1000 + Int(components.attoseconds / 1_000_000_000_000_000)
  }
}
