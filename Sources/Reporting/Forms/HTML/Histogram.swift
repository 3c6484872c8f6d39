/// How many values lie between bounds.
struct Histogram {
  /// Upper bounds, ascending; values from the last one on have a class of their own.
  let bounds: [Double]
  private(set) var counts: [Int]

  init(_ bounds: [Double]) {
    self.bounds = bounds
    counts = Array(repeating: 0, count: bounds.count + 1)
  }

  mutating func add(_ value: Double) { counts[bounds.firstIndex { value < $0 } ?? bounds.count] += 1 }

  /// The classes from the first that has values to the last.
  func rows(_ label: (Double) -> String) -> [(label: String, count: Int)] {
    guard let first = counts.firstIndex(where: { $0 > 0 }), let last = counts.lastIndex(where: { $0 > 0 })
    else { return [] }
    return (first...last).map { index in
      let name: String
      if index == 0 {
        name = "under " + label(bounds[0])
      } else if index == bounds.count {
        name = label(bounds[index - 1]) + " and more"
      } else {
        name = label(bounds[index - 1]) + " – " + label(bounds[index])
      }
      return (name, counts[index])
    }
  }
}
