import JobModel

/// The transfers with the largest figures, a few of however many.
struct TopList {
  static let limit = 10
  private(set) var items: [(figure: Double, transfer: JSON)] = []

  /// Largest first; of equal ones the first that came.
  mutating func add(_ transfer: JSON, _ figure: Double) {
    guard figure > 0, items.count < Self.limit || figure > (items.last?.figure ?? 0) else { return }
    let place = items.firstIndex { $0.figure < figure } ?? items.count
    items.insert((figure, transfer), at: place)
    if items.count > Self.limit { items.removeLast() }
  }
}
