/// A path below the root, as the file system names it: checked segments, no `..`, no NUL.
struct RootPath: Equatable, Sendable {
  /// Never empty; each segment is one file name's bytes.
  let segments: [[UInt8]]

  var name: String { segments.last.map { String(decoding: $0, as: UTF8.self) } ?? "" }
  var text: String { segments.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "/") }

  /// A null-terminated C path.
  var cString: [CChar] {
    segments.joined(separator: [UInt8(ascii: "/")]).map { CChar(bitPattern: $0) } + [0]
  }

  /// From a request path's raw segments: each is percent-decoded by itself, so `%2f` never makes a folder.
  init?(encoded: [Substring]) {
    let decoded = encoded.map { Self.percentDecode($0) }
    guard !decoded.isEmpty, decoded.allSatisfy({ $0.map(Self.isSafe) ?? false }) else { return nil }
    self.init(checked: decoded.compactMap { $0 })
  }

  /// From a `fileName` in JSON, with `/` between folders. Control characters are refused.
  init?(fileName: String) {
    let segments = fileName.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map {
      Array($0)
    }
    guard segments.allSatisfy(Self.isSafe), !fileName.utf8.contains(where: { $0 < 32 || $0 == 127 }),
      fileName.utf8.count <= 4000
    else { return nil }
    self.init(checked: segments)
  }

  private init?(checked segments: [[UInt8]]) {
    // Our own state is neither served nor written to.
    guard let first = segments.first, first != Array(".depot".utf8) else { return nil }
    self.segments = segments
  }

  private static func isSafe(_ segment: [UInt8]) -> Bool {
    (1...255).contains(segment.count) && segment != [46] && segment != [46, 46]
      && !segment.contains(0) && !segment.contains(UInt8(ascii: "/"))
  }

  /// Nil where a `%` is not followed by two hexadecimal digits.
  static func percentDecode(_ text: Substring) -> [UInt8]? {
    var decoded: [UInt8] = []
    var bytes = text.utf8.makeIterator()
    while let byte = bytes.next() {
      if byte != UInt8(ascii: "%") {
        decoded.append(byte)
        continue
      }
      guard let high = bytes.next().flatMap(Hex.value), let low = bytes.next().flatMap(Hex.value) else {
        return nil
      }
      decoded.append(high << 4 | low)
    }
    return decoded
  }
}
