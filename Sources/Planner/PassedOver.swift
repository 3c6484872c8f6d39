internal import JobModel

/// What a glob, or a listing, passes over and warns of: all files of a kind in one warning.
struct PassedOver {
  private struct Tally {
    var count = 0
    /// The first of them.
    var names: [String] = []
  }

  private static let named = 3
  private var links = Tally()
  private var unfinished = Tally()
  private var special = Tally()

  mutating func add(_ path: String, _ reason: TreeWalk.Skipped, at place: TextPlace, _ faults: PlanFaults) {
    switch reason {
    case .link: Self.count(path, &links)
    case .unfinished: Self.count(path, &unfinished)
    case .special: Self.count(path, &special)
    case .unnamed:
      faults.error("`\(path)` has a name that is not UTF-8", at: place, hint: "rename it, or exclude it")
    case .unreadable(let why):
      faults.error(
        "the folder `\(path)` can't be read: \(why)", at: place, hint: "mend its permissions, or exclude it",
        cause: .unreadableInput)
    }
  }

  mutating func add(_ path: String, _ kind: NonFile) {
    switch kind {
    case .link: Self.count(path, &links)
    case .special: Self.count(path, &special)
    }
  }

  private static func count(_ path: String, _ tally: inout Tally) {
    tally.count += 1
    if tally.count <= named { tally.names.append("`\(path)`") }
  }

  func report(at place: TextPlace, _ faults: PlanFaults) {
    func warn(_ tally: Tally, _ one: String, _ many: String, hint: String? = nil) {
      guard tally.count > 0 else { return }
      let names = CauseTally.names(tally.names, of: tally.count)
      faults.warning(
        tally.count == 1 ? names + one : "\(tally.count) \(many): \(names)", at: place, hint: hint)
    }
    warn(
      links, " is a symbolic link and is left out", "symbolic links are left out",
      hint: "name its target as a source of its own")
    warn(
      unfinished, " is a download of haul's that is not finished, and is left out",
      "downloads of haul's that are not finished are left out")
    warn(special, " is not a regular file and is left out", "names that are no regular files are left out")
  }
}
