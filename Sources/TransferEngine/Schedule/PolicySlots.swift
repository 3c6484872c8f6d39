import JobModel

/// How many transfers each policy has in flight; those of one name, or with equal keys, share a limit.
struct PolicySlots {
  enum Key: Hashable {
    case named(String)
    case inline(EffectivePolicy)
  }
  private var used: [Key: Int] = [:]
  private var throttles: [Key: Throttle] = [:]

  static func key(_ settings: TransferSettings) -> Key {
    settings.policyName.map(Key.named) ?? .inline(settings.policy)
  }

  func isFree(_ key: Key, _ policy: EffectivePolicy) -> Bool {
    used[key, default: 0] < max(1, policy.transfers)
  }
  mutating func take(_ key: Key) { used[key, default: 0] += 1 }
  mutating func free(_ key: Key) { used[key, default: 1] -= 1 }

  mutating func throttle(_ key: Key, _ policy: EffectivePolicy) -> Throttle {
    if let known = throttles[key] { return known }
    let made = Throttle(policy)
    throttles[key] = made
    return made
  }
}
