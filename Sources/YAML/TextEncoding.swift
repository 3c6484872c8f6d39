/// A manifest is UTF-8; libyaml would also take UTF-16, and names no line for a byte that is neither.
enum TextEncoding {
  static func fault(in bytes: [UInt8]) -> YAMLFault? {
    if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) {
      return YAMLFault(
        "the text is UTF-16", at: YAMLMark(line: 1, column: 1), hint: "save it as UTF-8")
    }
    guard String(validating: bytes, as: UTF8.self) == nil else { return nil }
    return YAMLFault(
      "the text is not UTF-8 here", at: mark(ofByte: validPrefix(bytes), in: bytes), hint: "save it as UTF-8")
  }

  /// Line and column of a byte, the bytes before it being valid.
  static func mark(ofByte offset: Int, in bytes: some Collection<UInt8>) -> YAMLMark {
    var mark = YAMLMark(line: 1, column: 1)
    var isFirst = true
    for scalar in String(decoding: bytes.prefix(offset), as: UTF8.self).unicodeScalars {
      if scalar == "\n" {
        mark = YAMLMark(line: mark.line + 1, column: 1)
      } else if !(isFirst && scalar == "\u{FEFF}") {
        mark.column += 1
      }
      isFirst = false
    }
    return mark
  }

  private static func validPrefix(_ bytes: [UInt8]) -> Int {
    var low = 0
    var start = 0
    // Line by line: only the line with the fault is searched byte by byte.
    while low < bytes.count {
      let end = bytes[low...].firstIndex(of: 0x0A) ?? bytes.count
      guard String(validating: bytes[low..<end], as: UTF8.self) != nil else {
        start = low
        break
      }
      low = end + 1
      start = low
    }
    var decoder = UTF8()
    var iterator = bytes[min(start, bytes.count)...].makeIterator()
    var good = start
    while case .scalarValue(let scalar) = decoder.decode(&iterator) {
      good += String(scalar).utf8.count
    }
    return good
  }
}
