import JobModel

/// Policies whose transfers must wait for something outside, and the profiles (settings) that are under them.
struct Holds {
  private(set) var profiles: [Int64: (key: PolicySlots.Key, policy: EffectivePolicy)] = [:]
  private(set) var held: [PolicySlots.Key: TransferState.PauseReason] = [:]
  /// Profiles whose queue has been paused.
  private(set) var paused: [Int64: TransferState.PauseReason] = [:]

  /// Whether a run has nothing to do but to wait for one of them.
  var isWaiting: Bool { !paused.isEmpty }
  /// Profiles that have no turn now.
  var excluded: Set<Int64> { Set(paused.keys) }

  func reason(_ key: PolicySlots.Key) -> TransferState.PauseReason? { held[key] }

  mutating func learn(_ profile: Int64, _ key: PolicySlots.Key, _ policy: EffectivePolicy) {
    if NetworkState.mayHold(policy) { profiles[profile] = (key, policy) }
  }

  mutating func set(_ key: PolicySlots.Key, _ reason: TransferState.PauseReason?) { held[key] = reason }
  mutating func setPaused(_ profile: Int64, _ reason: TransferState.PauseReason?) { paused[profile] = reason }
}
