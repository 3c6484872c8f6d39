/// Where a transfer's file lies on an SFTP server: the endpoint's base, and the path below it. The URL's path begins at the
/// server's root; `/~/` stands for the folder that a login begins in.
package struct SFTPPath: Sendable, Hashable {
  /// As it is sent.
  package let text: String
  /// The endpoint's base, as it is sent: folders are made below it.
  package let base: String

  /// - Parameters:
  ///   - path: below the base; empty for the base itself.
  package init(_ path: String, below url: WebURL) {
    var base = WebURL.decode(url.path)
    while base.utf8.count > 1, base.utf8.last == UInt8(ascii: "/") {
      base = String(decoding: base.utf8.dropLast(), as: UTF8.self)
    }
    if base == "/~" {
      base = "."
    } else if base.utf8.starts(with: "/~/".utf8) {
      base = String(decoding: base.utf8.dropFirst(3), as: UTF8.self)
    }
    self.base = base
    text = path.isEmpty ? base : Self.join(base, path)
  }

  private init(text: String, base: String) { (self.text, self.base) = (text, base) }

  private static func join(_ folder: String, _ name: String) -> String {
    if folder == "." { return name }
    return folder.utf8.last == UInt8(ascii: "/") ? folder + name : folder + "/" + name
  }

  /// The last slash, by bytes: to Swift, a slash and a combining mark behind it are one character.
  private var slash: String.UTF8View.Index? { text.utf8.lastIndex(of: UInt8(ascii: "/")) }

  package var name: String {
    slash.map { String(decoding: text.utf8[text.utf8.index(after: $0)...], as: UTF8.self) } ?? text
  }

  /// Another name in the same folder.
  package func sibling(_ name: String) -> SFTPPath {
    guard let slash else { return SFTPPath(text: name, base: base) }
    return SFTPPath(text: String(decoding: text.utf8[...slash], as: UTF8.self) + name, base: base)
  }

  /// A name in this folder.
  package func child(_ name: String) -> SFTPPath { SFTPPath(text: Self.join(text, name), base: base) }

  /// The folders between the base and the file, the deepest last.
  package var folders: [String] {
    var found: [String] = []
    let start = base == "." ? 0 : base == "/" ? 1 : base.utf8.count + 1
    var position = 0
    for byte in text.utf8 {
      if byte == UInt8(ascii: "/"), position > start, text.utf8.count > start {
        let folder = String(decoding: text.utf8.prefix(position), as: UTF8.self)
        if folder.utf8.last != UInt8(ascii: "/") { found.append(folder) }
      }
      position += 1
    }
    return found
  }
}

/// Names under which uploads arrive beside their destinations: `.haul-KEY.tmp`; and what a file is called while another takes
/// its name, where a server can't rename over it.
package enum SFTPNames {
  package static func temporary(_ key: String?) -> String { TemporaryName.make(key) }
  package static func isTemporary(_ name: String) -> Bool {
    TemporaryName.isOne(name)
      || name.hasSuffix(old) && TemporaryName.isOne(String(name.dropLast(old.utf8.count)))
  }

  private static let old = ".old"
  /// - Parameter temporary: the name that the upload arrived under.
  package static func aside(_ temporary: String) -> String { temporary + old }
}
