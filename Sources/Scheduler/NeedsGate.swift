import JobLedger
import JobModel

/// Which settings profiles wait for transfers that they need, and what is skipped because those can't be had.
struct NeedsGate {
  /// By profile, the id that it waits for.
  private var obstacles: [Int64: String] = [:]

  /// Profiles that have no turn yet: kept apart, as each turn asks for them.
  private(set) var blocked: Set<Int64> = []
  private var awaited: Set<String> = []
  private var look: Look?
  /// The last look began at the plan's end.
  private var isBackwards = false

  /// A look at the ledger that is under way.
  private struct Look {
    /// The profiles that it has still to come to, the next one last.
    var rest: [(id: Int64, settings: TransferSettings)]
    var obstacles: [Int64: String] = [:]
    var skipping: Skipping?
    var hasSkipped = false
  }

  /// What the next profile needs and can't have, and the last transfer that was skipped because of it.
  private struct Skipping {
    var need: String
    var failure: Failure
    var last: Int64 = 0
  }

  /// Transfers that are skipped before others have their turn.
  static let page = 2048
  /// Each profile costs a commit, which takes the disk as long as so many transfers do at the least.
  static let commit = 64

  /// The end of this transfer may let others have their turn.
  func waits(for id: String) -> Bool { awaited.contains(id) }

  /// What a look at the ledger came to.
  struct Outcome {
    /// Somebody may have a turn who could not before.
    var hasOpened: Bool
    /// Those that may go now, or may not any more, lie behind the queue's cursor.
    var isNews: Bool
    /// There is more to skip, or to look at because of what was skipped.
    var isUnfinished = false
  }

  /// Looks who must wait for whom. Skips what can't be had any more, which may stand in the way of others in turn: a page
  /// of transfers at a time.
  ///
  /// - Parameters:
  ///   - isNew: looks anew, rather than going on: the states of what is needed may be others.
  ///   - tell: told of what is skipped.
  mutating func settle(
    _ ledger: JobLedger, isNew: Bool = true, now: Double, telling tell: ((StateChange) -> Void)? = nil
  ) throws -> Outcome {
    var look: Look
    if !isNew, let begun = self.look {
      look = begun
    } else {
      // What was skipped may be needed by what comes before it: a chain in either order is skipped in one look.
      isBackwards = !isNew && !isBackwards
      let profiles = try ledger.waitingProfiles()
      look = Look(rest: isBackwards ? profiles : profiles.reversed())
    }
    self.look = nil
    var room = Self.page
    while room > 0, let profile = look.rest.last {
      if look.skipping == nil {
        let missing = try profile.settings.needs.compactMap { try ledger.obstacle(to: $0, of: profile.id) }
        // One that can't be had any more decides, whatever the others still come to.
        let first = missing.first(where: \.state.breaksNeed) ?? missing.first
        guard let obstacle = first, obstacle.state.breaksNeed else {
          look.obstacles[profile.id] = first?.id
          look.rest.removeLast()
          continue
        }
        let failure = Failure(
          .needsFailed, "`\(obstacle.id)`, which this transfer needs, is \(obstacle.state.word)")
        look.skipping = Skipping(need: obstacle.id, failure: failure)
        look.hasSkipped = true
        // It waits for nothing any more, and has no turn either.
        obstacles[profile.id] = nil
        blocked.insert(profile.id)
      }
      guard let skipping = look.skipping else { continue }
      let skipped = try ledger.skipQueued(
        profile: profile.id, need: skipping.need, failure: skipping.failure, after: skipping.last,
        limit: room, at: now, telling: tell)
      look.skipping?.last = skipped.last ?? skipping.last
      if skipped.count < room {
        look.skipping = nil
        look.rest.removeLast()
      }
      room -= max(Self.commit, skipped.count)
    }
    guard look.rest.isEmpty else {
      self.look = look
      return Outcome(hasOpened: false, isNews: true, isUnfinished: true)
    }
    let before = obstacles
    obstacles = look.obstacles
    (blocked, awaited) = (Set(obstacles.keys), Set(obstacles.values))
    let hasOpened = look.hasSkipped || before.keys.contains { obstacles[$0] == nil }
    return Outcome(
      hasOpened: hasOpened, isNews: hasOpened || before.isEmpty && !obstacles.isEmpty,
      isUnfinished: look.hasSkipped)
  }

  /// What had no turn keeps its place, with the reason.
  func holdRest(_ ledger: JobLedger, telling tell: ((StateChange) -> Void)? = nil) throws {
    for (profile, need) in obstacles {
      try ledger.settleQueued(profile: profile, to: .queued(.needs(need)), telling: tell)
    }
  }
}
