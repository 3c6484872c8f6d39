package import JobModel

/// How many transfers each policy has in flight; those of one name, or with equal keys, share a limit.
package struct PolicySlots {
  package enum Key: Hashable, Sendable {
    case named(String)
    case inline(EffectivePolicy)
  }
  private var used: [Key: Int] = [:]
  /// Those that lent their place and want it back, before anybody new begins.
  private var returning: [(slot: Slot, policy: EffectivePolicy)] = []
  private var throttles: [Key: Throttle] = [:]

  static func key(_ settings: TransferSettings) -> Key {
    settings.policyName.map(Key.named) ?? .inline(settings.policy)
  }

  func isFree(_ key: Key, _ policy: EffectivePolicy) -> Bool {
    used[key, default: 0] < max(1, policy.transfers)
  }
  mutating func take(_ key: Key) { used[key, default: 0] += 1 }
  mutating func free(_ key: Key) { used[key, default: 1] -= 1 }

  mutating func wish(_ slot: Slot, _ policy: EffectivePolicy) { returning.append((slot, policy)) }

  /// Those that have their place again now.
  mutating func takeReturning() -> [Slot] {
    var back: [Slot] = []
    var left: [(slot: Slot, policy: EffectivePolicy)] = []
    for item in returning {
      if isFree(item.slot.key, item.policy) {
        take(item.slot.key)
        back.append(item.slot)
      } else {
        left.append(item)
      }
    }
    returning = left
    return back
  }

  mutating func throttle(_ key: Key, _ policy: EffectivePolicy) -> Throttle {
    if let known = throttles[key] { return known }
    let made = Throttle(policy)
    throttles[key] = made
    return made
  }
}
