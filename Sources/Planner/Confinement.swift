internal import JobModel

/// Whether a destination's folder leads out of the manifest's through a symbolic link.
enum Confinement {
  /// The link that leads out, as a path relative to the folder.
  static func escapingLink(in folder: String, below directory: String) -> String? {
    let root = RealPath.of(directory)
    var path = ""
    for segment in folder.utf8.split(separator: 0x2F, omittingEmptySubsequences: true) {
      path += path.isEmpty ? String(Substring(segment)) : "/\(Substring(segment))"
      let absolute = directory + "/" + path
      guard FileStatus.isLink(absolute) else { continue }
      let target = RealPath.of(absolute)
      if !RealPath.lies(target, in: root) { return path }
    }
    return nil
  }

  /// Whether the path itself, not a folder on the way to it, is a link that leads out.
  static func isEscapingLink(_ path: String, below directory: String) -> Bool {
    let absolute = directory + "/" + path
    guard FileStatus.isLink(absolute) else { return false }
    return !RealPath.lies(RealPath.of(absolute), in: RealPath.of(directory))
  }
}
