internal import Foundation
internal import JobModel

/// Whether a destination's folder leads out of the manifest's through a symbolic link.
enum Confinement {
  /// The link that leads out, as a path relative to the folder.
  static func escapingLink(in folder: String, below directory: String) -> String? {
    let root = resolved(directory)
    var path = ""
    for segment in folder.utf8.split(separator: 0x2F, omittingEmptySubsequences: true) {
      path += path.isEmpty ? String(Substring(segment)) : "/\(Substring(segment))"
      let absolute = directory + "/" + path
      guard FileStatus.isLink(absolute) else { continue }
      let target = resolved(absolute)
      if target != root, !target.hasPrefix(root + "/") { return path }
    }
    return nil
  }

  private static func resolved(_ path: String) -> String {
    URL(fileURLWithPath: path).resolvingSymlinksInPath().path
  }
}
