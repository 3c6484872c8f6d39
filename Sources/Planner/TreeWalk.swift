internal import Glibc
internal import JobModel
internal import Posix

/// Walks a folder in the order of paths (by bytes), and names what it passes over.
struct TreeWalk {
  enum Skipped { case link, special, unnamed, unfinished, unreadable(String) }

  let pattern: GlobPattern
  let filter: EntryFilter
  /// The fixed part as the pattern writes it, and as the file system takes it.
  let fixed: String
  let root: String

  /// `file` gets the path below the fixed part, the size in bytes, and the time in seconds since 1970.
  func run(
    file: (_ below: String, _ size: Int64, _ modified: Double) throws -> Void,
    skipped: (_ below: String, Skipped) -> Void
  ) throws {
    try folder("", file, skipped)
  }

  private struct Entry {
    var name: String
    var kind: mode_t
    var size: Int64
    var modified: Double

    /// What follows the name in a path: so that folders sort as the paths in them do.
    private var end: Int { kind == S_IFDIR ? 0x2F : -1 }

    /// By bytes. No copies are made of the names for it: a folder may hold very many.
    static func precedes(_ one: Entry, _ other: Entry) -> Bool {
      var (left, right) = (one.name.utf8.makeIterator(), other.name.utf8.makeIterator())
      while true {
        let (a, b) = (left.next(), right.next())
        if let a, a == b { continue }
        let first = a.map { Int($0) } ?? one.end
        let second = b.map { Int($0) } ?? other.end
        return first < second
      }
    }
  }

  private func folder(
    _ below: String, _ file: (String, Int64, Double) throws -> Void, _ skipped: (String, Skipped) -> Void
  ) throws {
    let path = root + below
    let names: [String]
    do throws(SystemError) {
      names = try Files.names(in: path.isEmpty ? "." : path)
    } catch {
      // One that is not there, or was removed meanwhile, holds nothing.
      if error.number != ENOENT { skipped(below, .unreadable("\(error)")) }
      return
    }
    for entry in entries(names, in: path, below, skipped) {
      let here = below + entry.name
      switch entry.kind {
      case S_IFDIR:
        guard mayLead(here) else { continue }
        try folder(here + "/", file, skipped)
      case S_IFREG:
        guard admits(here) else { continue }
        guard !PartPattern.matches(entry.name) else {
          skipped(here, .unfinished)
          continue
        }
        try file(here, entry.size, entry.modified)
      case S_IFLNK:
        if admits(here) || mayLead(here) { skipped(here, .link) }
      default:
        if admits(here) { skipped(here, .special) }
      }
    }
  }

  private func admits(_ below: String) -> Bool { pattern.matches(fixed + below) && filter.admits(below) }

  /// Whether something below a folder of that name may be admitted.
  private func mayLead(_ below: String) -> Bool {
    pattern.mayMatch(below: fixed + below) && !filter.excludesAll(below: below)
  }

  private func entries(
    _ names: [String], in path: String, _ below: String, _ skipped: (String, Skipped) -> Void
  ) -> [Entry] {
    var entries: [Entry] = []
    entries.reserveCapacity(names.count)
    var unnamed: Set<String>?
    /// Whether more may lie below a name that is not UTF-8.
    func leads(_ name: String) -> Bool {
      let all = unnamed ?? Files.unnamedFoldersAndLinks(in: path.isEmpty ? "." : path)
      unnamed = all
      return all.contains(name)
    }
    for name in names {
      var status = stat()
      guard lstat(path + name, &status) == 0 else {
        // A name that does not lead back to its file was no UTF-8; another one was removed meanwhile.
        let error = SystemError()
        if name.unicodeScalars.contains("\u{FFFD}"),
          admits(below + name) || mayLead(below + name) && leads(name)
        {
          skipped(below + name, .unnamed)
        } else if error.number != ENOENT, admits(below + name) || mayLead(below + name) {
          // A folder without the right to enter it shows none of its files.
          let isFolder = error.number == EACCES
          skipped(isFolder ? below : below + name, .unreadable("\(error)"))
          if isFolder { return [] }
        }
        continue
      }
      let kind = status.st_mode & S_IFMT
      entries.append(
        Entry(
          name: name, kind: kind, size: Int64(status.st_size),
          modified: Double(status.st_mtim.tv_sec) + Double(status.st_mtim.tv_nsec) / 1e9))
    }
    entries.sort { Entry.precedes($0, $1) }
    return entries
  }
}

/// What a path is at the moment; nil where there is nothing.
struct FileStatus {
  var isRegular: Bool
  var isFolder: Bool
  var size: Int64

  init?(following path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    isRegular = status.st_mode & S_IFMT == S_IFREG
    isFolder = status.st_mode & S_IFMT == S_IFDIR
    size = Int64(status.st_size)
  }

  enum Kind { case link, absent, other }

  /// What the path itself is, not what it leads to.
  static func kind(_ path: String) -> Kind {
    var status = stat()
    guard lstat(path, &status) == 0 else { return errno == ENOENT ? .absent : .other }
    return status.st_mode & S_IFMT == S_IFLNK ? .link : .other
  }

  static func isLink(_ path: String) -> Bool { kind(path) == .link }
}
