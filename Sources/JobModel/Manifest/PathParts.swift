/// A path's folder and name, cut at its last slash byte: to Swift's characters, a slash and a combining mark behind
/// it are one, and not a slash.
package struct PathParts {
  /// Empty where the path is a name alone; `/` for the root.
  package let parent: String
  package let name: String

  package init(_ path: String) {
    guard let cut = path.utf8.lastIndex(of: UInt8(ascii: "/")) else {
      (parent, name) = ("", path)
      return
    }
    parent = cut == path.startIndex ? "/" : String(Substring(path.utf8[..<cut]))
    name = String(Substring(path.utf8[path.utf8.index(after: cut)...]))
  }
}
