/// Whether destinations are links that lead out of the manifest's folder.
///
/// A look is a system call for each row. Below a folder that is not there nothing is, and nothing is looked at.
final class DestinationLinks {
  private let directory: String
  /// A folder that is not there, as a path below the directory that ends in `/`.
  private var absent: String?
  /// Searches for such a folder cost some looks: where they do not help, they end.
  private var searches = 64

  init(below directory: String) { self.directory = directory }

  /// - Parameter path: normalised, below the directory.
  func isEscaping(_ path: String) -> Bool {
    if let absent, path.utf8.starts(with: absent.utf8) { return false }
    switch FileStatus.kind(directory + "/" + path) {
    case .link: return Confinement.isEscapingLink(path, below: directory)
    case .absent: searchAbsentFolder(above: path)
    case .other: break
    }
    return false
  }

  private func searchAbsentFolder(above path: String) {
    guard searches > 0 else { return }
    searches -= 1
    var rest = path.utf8[...]
    while let slash = rest.lastIndex(of: 0x2F) {
      rest = rest[..<slash]
      let folder = String(Substring(rest))
      guard FileStatus.kind(directory + "/" + folder) == .absent else { return }
      absent = folder + "/"
    }
  }
}
