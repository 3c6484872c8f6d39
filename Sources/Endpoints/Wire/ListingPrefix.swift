/// A prefix as a folder, and how names in it begin.
struct ListingPrefix {
  /// Empty, or ends in `/`.
  let folder: String
  private let beginning: Substring

  init(_ text: String) {
    let end = text.utf8.lastIndex(of: UInt8(ascii: "/")).map { text.utf8.index(after: $0) }
    (folder, beginning) = (String(text[..<(end ?? text.startIndex)]), text[(end ?? text.startIndex)...])
  }

  /// - Parameter path: below the folder. By bytes, as stores compare names.
  func admits(_ path: String) -> Bool { path.utf8.starts(with: beginning.utf8) }

  /// The path behind the prefix.
  func below(_ path: String) -> String {
    String(decoding: path.utf8.dropFirst(beginning.utf8.count), as: UTF8.self)
  }
}
