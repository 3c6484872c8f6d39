import JobLedger
import JobModel

/// Which settings profiles wait for transfers that they need, and what is skipped because those can't be had.
struct NeedsGate {
  /// By profile, the id that it waits for.
  private var obstacles: [Int64: String] = [:]

  /// Profiles that have no turn yet: kept apart, as each turn asks for them.
  private(set) var blocked: Set<Int64> = []
  private var awaited: Set<String> = []

  /// The end of this transfer may let others have their turn.
  func waits(for id: String) -> Bool { awaited.contains(id) }

  /// What a look at the ledger came to.
  struct Outcome {
    /// Somebody may have a turn who could not before.
    var hasOpened: Bool
    /// Those that may go now, or may not any more, lie behind the queue's cursor.
    var isNews: Bool
  }

  /// Looks anew who must wait for whom. Skips what can't be had any more, which may stand in the way of others in turn.
  ///
  /// - Parameter tell: told of what is skipped.
  mutating func settle(
    _ ledger: JobLedger, now: Double, telling tell: ((StateChange) -> Void)? = nil
  ) throws -> Outcome {
    let before = obstacles
    var hasSkipped = false
    while try look(ledger, now: now, telling: tell) { hasSkipped = true }
    (blocked, awaited) = (Set(obstacles.keys), Set(obstacles.values))
    let hasOpened = hasSkipped || before.keys.contains { obstacles[$0] == nil }
    return Outcome(hasOpened: hasOpened, isNews: hasOpened || before.isEmpty && !obstacles.isEmpty)
  }

  /// - Returns: whether something was skipped.
  private mutating func look(
    _ ledger: JobLedger, now: Double, telling tell: ((StateChange) -> Void)?
  ) throws -> Bool {
    obstacles = [:]
    var hasSkipped = false
    for profile in try ledger.waitingProfiles() {
      let missing = try profile.settings.needs.compactMap { try ledger.obstacle(to: $0, of: profile.id) }
      // One that can't be had any more decides, whatever the others still come to.
      guard let obstacle = missing.first(where: \.state.breaksNeed) ?? missing.first else { continue }
      guard obstacle.state.breaksNeed else {
        obstacles[profile.id] = obstacle.id
        continue
      }
      let failure = Failure(
        .needsFailed, "`\(obstacle.id)`, which this transfer needs, is \(obstacle.state.word)")
      try ledger.skipQueued(
        profile: profile.id, need: obstacle.id, failure: failure, at: now, telling: tell)
      hasSkipped = true
    }
    return hasSkipped
  }

  /// What had no turn keeps its place, with the reason.
  func holdRest(_ ledger: JobLedger, telling tell: ((StateChange) -> Void)? = nil) throws {
    for (profile, need) in obstacles {
      try ledger.settleQueued(profile: profile, to: .queued(.needs(need)), telling: tell)
    }
  }
}
