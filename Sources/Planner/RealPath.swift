internal import Glibc
internal import JobModel
internal import Posix

enum RealPath {
  /// Absolute, links resolved, also those that lead to what is not there yet.
  static func of(_ path: String) -> String {
    let whole = RelativePath.isAbsolute(path) ? path : Files.workingFolder + "/" + path
    // What is not there yet is no link: its `..` can be worked out as text.
    return RelativePath.normalize(resolved(whole, links: 40))
  }

  /// Whether a path is a folder's, or lies below it.
  static func lies(_ path: String, in folder: String) -> Bool {
    (path + "/").utf8.starts(with: (folder.utf8.last == 0x2F ? folder : folder + "/").utf8)
  }

  private static func resolved(_ path: String, links: Int) -> String {
    var (head, tail) = (path, "")
    while let cut = head.utf8.lastIndex(of: 0x2F) {
      if let real = realpath(head, nil) {
        defer { free(real) }
        return String(cString: real) + tail
      }
      let (folder, name) = (String(head[..<cut]), String(head[cut...]))
      if links > 0, let target = Files.linkTarget(head) {
        let whole = RelativePath.isAbsolute(target) ? target : folder + "/" + target
        return resolved(whole + tail, links: links - 1)
      }
      if name != "/" { tail = name + tail }
      head = folder
    }
    return tail
  }
}
