/// The file name of a Content-Disposition header (RFC 6266): `filename*` first, then `filename`.
package enum ContentDisposition {
  package static func fileName(_ value: String) -> String? {
    var plain: String?
    for parameter in parameters(value) {
      let name = parameter.name.lowercased()
      if name == "filename*" {
        let pieces = parameter.value.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        if pieces.count == 3, pieces[0].lowercased() == "utf-8" { return WebURL.decode(pieces[2]) }
      } else if name == "filename", plain == nil {
        plain = parameter.value
      }
    }
    return plain
  }

  /// A name that is safe as the last part of a local path; nil where nothing safe is left.
  package static func sanitised(_ name: String) -> String? {
    // By bytes: to Swift, a slash and a combining mark behind it are one character, and not a slash.
    let pieces = name.utf8.split { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
    let base = pieces.last.map { String(Substring($0)) } ?? ""
    let clean = base.unicodeScalars.filter { $0.value >= 32 && $0.value != 127 }
    // A server does not get to make hidden files: they configure things. Controls before a dot don't hide it from us.
    let cut = cut(Array(String(String.UnicodeScalarView(clean.drop { $0 == "." })).utf8))
    return cut.isEmpty || cut == "." || cut == ".." ? nil : cut
  }

  /// A name that fits a file system. What stands behind the last dot stays: it says what the file is.
  private static func cut(_ name: [UInt8]) -> String {
    let dot = name.lastIndex(of: UInt8(ascii: ".")) ?? name.endIndex
    let suffix = name.count - dot <= longestSuffix ? name[dot...] : []
    var stem = name.dropLast(suffix.count).prefix(longestName - suffix.count)
    // Cutting may have split a character: what is no UTF-8 any more goes too.
    while String(validating: stem, as: UTF8.self) == nil { stem.removeLast() }
    return String(decoding: stem + suffix, as: UTF8.self)
  }

  /// In bytes.
  private static let (longestName, longestSuffix) = (255, 16)

  private static func parameters(_ text: String) -> [(name: String, value: String)] {
    var found: [(name: String, value: String)] = []
    var rest = text[...]
    guard let first = rest.firstIndex(of: ";") else { return [] }
    rest = rest[rest.index(after: first)...]
    while !rest.isEmpty {
      guard let equals = rest.firstIndex(of: "=") else { break }
      let name = rest[..<equals].filter { $0 != " " && $0 != ";" }
      rest = rest[rest.index(after: equals)...].drop { $0 == " " }
      var value = ""
      if rest.first == "\"" {
        rest = rest.dropFirst()
        while let character = rest.popFirst(), character != "\"" {
          if character == "\\", let escaped = rest.popFirst() {
            value.append(escaped)
          } else {
            value.append(character)
          }
        }
      } else {
        let end = rest.firstIndex(of: ";") ?? rest.endIndex
        value = rest[..<end].trimmingSuffixBlanks()
        rest = rest[end...]
      }
      found.append((name, value))
      guard let next = rest.firstIndex(of: ";") else { break }
      rest = rest[rest.index(after: next)...]
    }
    return found
  }
}

extension Substring {
  fileprivate func trimmingSuffixBlanks() -> String {
    var text = self
    while let last = text.last, last == " " || last == "\t" { text.removeLast() }
    return String(text)
  }
}
