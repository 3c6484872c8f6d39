internal import JobModel

/// Where folders below one lie, links resolved.
///
/// A folder that is there is looked at once, and nothing is below one that is not there: a million rows cost few system
/// calls.
final class RealFolders {
  private struct Found {
    let path: String
    let isThere: Bool
  }

  private let directory: String
  private lazy var home = Found(path: RealPath.of(directory), isThere: true)
  private var known: [ByteText: Found] = [:]
  private static let mostKnown = 4096
  /// The last folder that was found not to be there, though the one above is; ends in `/`.
  private(set) var absent: String?

  init(below directory: String) { self.directory = directory }

  /// - Parameter folder: absolute, or below the directory; may end in `/`.
  func path(of folder: String) -> String {
    if RelativePath.isAbsolute(folder) { return RealPath.of(folder) }
    guard Self.isPlain(folder) else { return RealPath.of(directory + "/" + folder) }
    return find(folder.utf8.last == 0x2F ? String(folder.dropLast()) : folder).path
  }

  /// Whether no part of a path is empty or begins with a dot: `..` leads to where the links before it lead.
  static func isPlain(_ path: String) -> Bool {
    var isFirst = true
    for byte in path.utf8 {
      if isFirst, byte == 0x2E || byte == 0x2F { return false }
      isFirst = byte == 0x2F
    }
    return true
  }

  private func find(_ folder: String) -> Found {
    guard !folder.isEmpty else { return home }
    if let found = known[ByteText(folder)] { return found }
    let slash = folder.utf8.lastIndex(of: 0x2F)
    let above = slash.map { find(String(folder[..<$0])) } ?? home
    let name = folder[(slash.map { folder.utf8.index(after: $0) } ?? folder.startIndex)...]
    let path = above.path + (above.path.utf8.last == 0x2F ? "" : "/") + name
    guard above.isThere else { return Found(path: path, isThere: false) }
    let found =
      switch FileStatus.kind(path) {
      case .absent: Found(path: path, isThere: false)
      case .other: Found(path: path, isThere: true)
      case .link: Found(path: RealPath.of(path), isThere: true)
      }
    if !found.isThere { absent = folder + "/" }
    if known.count == Self.mostKnown { known = [:] }
    known[ByteText(folder)] = found
    return found
  }
}
