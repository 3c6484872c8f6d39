/// What a `Range` header asks for (RFC 9110, 14.2).
enum RangeHeader: Equatable {
  /// No header, another unit, bad syntax, or several ranges: the whole file is answered.
  case whole
  case part(ByteRange)
  case unsatisfiable

  init(_ text: String?, length: Int) {
    self = Self.parse(text, length: length)
  }

  private static func parse(_ text: String?, length: Int) -> RangeHeader {
    guard let text, let equals = text.firstIndex(of: "="),
      text[..<equals].lowercased() == "bytes"
    else { return .whole }
    let sets = text[text.index(after: equals)...].split(separator: ",").map { trim($0) }
    let specs = sets.filter { !$0.isEmpty }
    guard specs.count == 1, let dash = specs[0].firstIndex(of: "-") else { return .whole }
    let first = specs[0][..<dash]
    let last = specs[0][specs[0].index(after: dash)...]
    if first.isEmpty {
      guard let suffix = number(last) else { return .whole }
      if suffix == 0 { return .unsatisfiable }
      // A suffix of nothing is satisfiable, but no Content-Range can say so: the (empty) whole.
      if length == 0 { return .whole }
      let count = min(suffix, length)
      return .part(ByteRange(offset: length - count, count: count))
    }
    guard let start = number(first) else { return .whole }
    var end = Int.max - 1
    if !last.isEmpty {
      guard let given = number(last), given >= start else { return .whole }
      end = min(given, Int.max - 1)
    }
    if start >= length { return .unsatisfiable }
    return .part(ByteRange(offset: start, count: min(end, length - 1) - start + 1))
  }

  /// Digits only; more than fits reads as the largest number, as "past the end" means the same.
  private static func number(_ text: Substring) -> Int? {
    guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
    return Int(text) ?? Int.max
  }

  private static func trim(_ text: Substring) -> Substring {
    var text = text.drop { $0 == " " || $0 == "\t" }
    while let last = text.last, last == " " || last == "\t" { text.removeLast() }
    return text
  }
}
