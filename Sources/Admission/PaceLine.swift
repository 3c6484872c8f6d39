/// Who waits for rate limits, in the order of coming. One limit's wait holds up those under it, and nobody else.
package struct PaceLine {
  private struct Place {
    let id: Int
    let count: Int
    let limits: [RateLimit]
  }
  private var places: [Place] = []
  private var last = 0

  package init() {}

  package var isEmpty: Bool { places.isEmpty }

  /// Asks for `count` bytes; nil where they may go at once, else the place in the line.
  package mutating func ask(_ count: Int, under limits: [RateLimit], now: Double) -> Int? {
    if limits.allSatisfy({ !$0.isWanted && $0.wait(now: now) <= 0 }) {
      for limit in limits { limit.take(count) }
      return nil
    }
    last += 1
    places.append(Place(id: last, count: count, limits: limits))
    for limit in limits { limit.enterLine() }
    return last
  }

  /// Takes those out of the line whose bytes may go now; they are paid for.
  package mutating func due(now: Double) -> [Int] {
    var going: [Int] = []
    var shut: Set<ObjectIdentifier> = []
    places.removeAll { place in
      guard !place.limits.contains(where: { shut.contains(ObjectIdentifier($0)) }) else { return false }
      let full = place.limits.filter { $0.wait(now: now) > 0 }
      guard full.isEmpty else {
        shut.formUnion(full.map { ObjectIdentifier($0) })
        return false
      }
      for limit in place.limits {
        limit.take(place.count)
        limit.leaveLine()
      }
      going.append(place.id)
      return true
    }
    return going
  }

  /// Seconds until somebody's turn may come; nil where nobody waits.
  package func next(now: Double) -> Double? {
    places.map { place in place.limits.map { $0.wait(now: now) }.max() ?? 0 }.min()
  }

  /// Gives up a place.
  package mutating func leave(_ id: Int) {
    guard let index = places.firstIndex(where: { $0.id == id }) else { return }
    for limit in places.remove(at: index).limits { limit.leaveLine() }
  }
}
