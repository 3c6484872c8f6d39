/// Draws a fixed share of a known number of transfers as they pass, each with the same chance (Knuth, algorithm S).
struct SampleDraw: Sendable, Hashable {
  /// How many pass at the most, and how many of them are drawn.
  let total: Int
  let wanted: Int
  let seed: UInt64
  private(set) var passed: Int
  private(set) var drawn: Int

  /// - Parameter share: of all; at least one is drawn where there is one.
  init(share: Double, of total: Int, seed: UInt64, passed: Int = 0, drawn: Int = 0) {
    self.total = total
    wanted = min(total, Int((Double(total) * share).rounded(.up)))
    self.seed = seed
    self.passed = passed
    self.drawn = drawn
  }

  /// Whether the next one is drawn.
  mutating func takes() -> Bool {
    guard drawn < wanted, passed < total else { return false }
    let left = UInt64(total - passed)
    passed += 1
    guard Self.random(seed &+ UInt64(passed)) % left < UInt64(wanted - drawn) else { return false }
    drawn += 1
    return true
  }

  /// SplitMix64: the same number for the same place, also after a stop.
  private static func random(_ place: UInt64) -> UInt64 {
    var mixed = place &* 0x9E37_79B9_7F4A_7C15
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
