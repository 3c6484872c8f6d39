internal import JobModel

/// Asks `where` about the entries of a fan-out, and counts those that it leaves out.
struct EntrySelection {
  private let bounds: EntryBounds?
  /// Of the run, in seconds since 1970.
  private let startedAt: Double
  private(set) var leftOut = 0
  /// There is an entry that can't be judged, which is told.
  private(set) var hasUntold = false

  init(_ bounds: EntryBounds?, startedAt: Double) {
    (self.bounds, self.startedAt) = (bounds, startedAt)
  }

  /// Whether an entry is meant; one whose size or time is not known is a fault.
  ///
  /// - Parameters:
  ///   - modified: seconds since 1970.
  ///   - shown: the entry as a message names it.
  mutating func takes(
    size: Int64?, modified: Double?, _ shown: @autoclosure () -> String, _ faults: PlanFaults
  )
    -> Bool
  {
    guard let bounds else { return true }
    switch bounds.judge(size: size, modified: modified, startedAt: startedAt) {
    case .meant: return true
    case .leftOut: leftOut += 1
    case .untold(let fact):
      hasUntold = true
      faults.error(
        "the listing tells no \(fact) of `\(shown())`, which `where` asks for",
        at: TextPlace(mark: bounds.mark, lineText: bounds.lineText),
        hint: "leave it out by `exclude`, or leave that part of `where` out")
    }
    return false
  }

  /// Says how many were left out, in one diagnostic.
  func report(_ faults: PlanFaults) {
    guard let bounds, leftOut > 0 else { return }
    faults.add(
      Diagnostic(
        .note, "`where` leaves out \(leftOut) \(leftOut == 1 ? "entry" : "entries")", at: bounds.mark,
        lineText: bounds.lineText))
  }

  /// Why a fan-out that found nothing is empty.
  func emptiness(_ nothing: String) -> String {
    leftOut == 0 ? nothing : "`where` leaves out all that was found (\(leftOut)): \(nothing)"
  }
}
