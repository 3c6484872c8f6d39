/// Where a walk through folders stands: what is asked for next, and which folders are left. Its text is a listing's mark.
///
/// It is bounded: of a folder's folders it keeps a thousand names, and asks for the folder again for those behind them.
struct FolderWalk: Sendable, Hashable {
  /// Folders of one folder whose names are kept.
  static let most = 1000
  /// A server whose links make a circle would be walked for ever.
  static let deepest = 128

  /// Below where the walk began; empty, or ends in `/`.
  private(set) var folder = ""
  /// Set where the folder is asked for again: its files are known, and its folders up to this name.
  private(set) var last: String?
  /// The folders above, with what is left of each.
  private var left: [Level] = []

  private struct Level: Sendable, Hashable {
    var folder: String
    /// Folders in it, by name.
    var names: ArraySlice<String>
    /// The last of the names, where there are more behind them.
    var last: String?
  }

  /// At its beginning.
  init() {}

  /// Nil for another text than `text` has written.
  init?(_ text: String) {
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      line.split(separator: "\t", omittingEmptySubsequences: false).map { WebURL.decode($0) }
    }
    guard let first = lines.popLast(), first.count == 2, lines.allSatisfy({ $0.count >= 2 }) else {
      return nil
    }
    (folder, last) = (first[0], first[1].isEmpty ? nil : first[1])
    left = lines.map { Level(folder: $0[0], names: $0[2...], last: $0[1].isEmpty ? nil : $0[1]) }
  }

  var text: String {
    let lines = left.map { [$0.folder, $0.last ?? ""] + $0.names } + [[folder, last ?? ""]]
    return lines.map { $0.map { WebURL.encode($0) }.joined(separator: "\t") }.joined(separator: "\n")
  }

  var depth: Int { folder.utf8.count { $0 == UInt8(ascii: "/") } }

  /// The walk behind the folder that has been asked for.
  ///
  /// - Parameter folders: the names of the folders in it.
  /// - Returns: nil at its end.
  func next(_ folders: [String]) -> FolderWalk? {
    var behind = folders.filter { name in last.map { $0.utf8.lexicographicallyPrecedes(name.utf8) } ?? true }
    behind.sort { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    let isCut = behind.count > Self.most
    let names = behind.prefix(Self.most)
    var walk = self
    walk.left.append(Level(folder: folder, names: names, last: isCut ? names.last : nil))
    while var level = walk.left.popLast() {
      if let name = level.names.popFirst() {
        walk.left.append(level)
        (walk.folder, walk.last) = (level.folder + name + "/", nil)
        return walk
      }
      if let last = level.last {
        (walk.folder, walk.last) = (level.folder, last)
        return walk
      }
    }
    return nil
  }
}
