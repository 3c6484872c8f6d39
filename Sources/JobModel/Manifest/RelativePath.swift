/// Paths as text: normalised and confined without asking the file system.
///
/// By bytes, as the kernel reads them: to Swift, a slash and a combining mark behind it are one character.
package enum RelativePath {
  /// Without `.` and empty segments; `..` is kept, as a link may stand before it. A final `/` stays.
  package static func tidy(_ path: String) -> String {
    if isTidy(path) { return path }
    return join(segments(path).filter { $0 != "." }, like: path)
  }

  /// As `tidy`, with `..` worked out too; leading ones stay.
  package static func normalize(_ path: String) -> String {
    if isTidy(path) { return path }
    var stack: [Substring] = []
    for segment in segments(path) where segment != "." {
      if segment == "..", let last = stack.last, last != ".." {
        stack.removeLast()
      } else if segment != ".." || !isAbsolute(path) {
        stack.append(segment)
      }
    }
    return join(stack, like: path)
  }

  /// A path relative to a folder, normalised; an absolute one below the folder is made relative.
  package static func relative(_ path: String, to folder: String) -> String {
    let normal = normalize(path)
    guard normal.utf8.first == 0x2F else { return normal }
    let root = folder.utf8.last == 0x2F ? folder : folder + "/"
    guard normal.utf8.starts(with: root.utf8) else { return normal }
    return String(Substring(normal.utf8.dropFirst(root.utf8.count)))
  }

  /// Leads out of the folder that it is relative to.
  package static func escapes(_ path: String) -> Bool {
    if path.utf8.first == 0x2F { return true }
    guard path.utf8.first == 0x2E || !isTidy(path) else { return false }
    let normal = normalize(path)
    return normal == ".." || normal.utf8.starts(with: "../".utf8)
  }

  /// Whether what follows a path's fixed part (its first bytes, up to a `/`) ever climbs above it.
  ///
  /// - Parameter isEncoded: a URL's, where `%2e` is a dot; in a path it is three characters of a name.
  package static func climbs(_ path: String, afterBytes fixed: Int, isEncoded: Bool = false) -> Bool {
    if fixed == 0, path.utf8.first == 0x2F { return true }
    // Nearly every path has neither: two dots in a row, or a percent sign.
    var wasDot = false
    let isPlain = path.allBytes { byte in
      defer { wasDot = byte == 0x2E }
      return (byte != 0x25 || !isEncoded) && !(byte == 0x2E && wasDot)
    }
    return !isPlain && leavesFolder(Substring(path.utf8.dropFirst(fixed)), isEncoded)
  }

  /// All up to the last slash, and that too; empty where there is none.
  package static func folder(_ path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: 0x2F) else { return "" }
    return String(Substring(path.utf8[...slash]))
  }

  package static func baseName(_ path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: 0x2F) else { return path }
    return String(path[path.utf8.index(after: slash)...])
  }

  /// Stands for a folder: ends in `/`, `/.` or `/..`, or is `.` or `..`.
  package static func namesFolder(_ path: String) -> Bool {
    guard let last = path.utf8.last, last != 0x2F else { return true }
    return last == 0x2E && [".", ".."].contains(baseName(path))
  }

  private static func leavesFolder(_ path: Substring, _ isEncoded: Bool) -> Bool {
    var depth = 0
    for segment in path.utf8.split(separator: 0x2F, omittingEmptySubsequences: true).map(Substring.init) {
      switch isEncoded ? segment.replacing("%2e", with: ".").replacing("%2E", with: ".") : segment {
      case ".": continue
      case "..": depth -= 1
      default: depth += 1
      }
      if depth < 0 { return true }
    }
    return false
  }

  /// No segment is empty, nor begins with a dot.
  private static func isTidy(_ path: String) -> Bool {
    var isStart = true
    var isFirst = true
    return path.allBytes { byte in
      if isStart, byte == 0x2E || (byte == 0x2F && !isFirst) { return false }
      isStart = byte == 0x2F
      isFirst = false
      return true
    }
  }

  private static func segments(_ path: String) -> [Substring] {
    path.utf8.split(separator: 0x2F, omittingEmptySubsequences: true).map(Substring.init)
  }

  private static func join(_ segments: [Substring], like path: String) -> String {
    let body = segments.joined(separator: "/")
    if body.isEmpty { return isAbsolute(path) ? "/" : "" }
    return (isAbsolute(path) ? "/" : "") + body + (namesFolder(path) ? "/" : "")
  }

  /// What is wrong with a path that a shell would expand: haul does not, and would make a folder of that name.
  package static func shellFault(_ path: String) -> ValueFault? {
    guard let first = path.utf8.first, first == 0x7E || first == 0x24 else { return nil }
    let sign = first == 0x7E ? "~" : "$"
    return ValueFault(
      "the path `\(path)` begins with `\(sign)`, which haul does not expand",
      hint: "write an absolute path, or `${env.HOME}`; a file of that name is `./\(path)`")
  }

  /// A path as the system takes it: one that is not absolute lies below the folder.
  package static func absolute(_ path: String, in folder: String) -> String {
    isAbsolute(path) ? path : folder + "/" + path
  }

  package static func isAbsolute(_ path: String) -> Bool { path.utf8.first == 0x2F }
}
