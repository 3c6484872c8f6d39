/// The places of transfers in the plan of the whole job (`ordinal`), counted and summed up, however many they are.
struct PlanPlaces {
  private(set) var count: Int64 = 0
  private(set) var highest: Int64 = 0
  /// Of the places' hashes: other places have the same sum by chance alone.
  private var sum: UInt64 = 0

  mutating func add(_ place: Int64) {
    count += 1
    highest = max(highest, place)
    sum &+= Self.hash(UInt64(bitPattern: place))
  }

  mutating func add(_ others: PlanPlaces) {
    count += others.count
    highest = max(highest, others.highest)
    sum &+= others.sum
  }

  /// Whether they are 1, 2, 3 and so on, each once.
  var areWithoutGap: Bool {
    var wanted: UInt64 = 0
    for place in 0..<UInt64(count) { wanted &+= Self.hash(place + 1) }
    return sum == wanted
  }

  /// SplitMix64's finalizer.
  private static func hash(_ place: UInt64) -> UInt64 {
    var hash = place &+ 0x9E37_79B9_7F4A_7C15
    hash = (hash ^ hash >> 30) &* 0xBF58_476D_1CE4_E5B9
    hash = (hash ^ hash >> 27) &* 0x94D0_49BB_1331_11EB
    return hash ^ hash >> 31
  }
}
