import JobLedger
import JobModel

/// Turns while hosts rest: nothing is begun for a host that is shut, and places are lent meanwhile.
extension TransferEngine {
  func state(_ host: String?, _ policy: EffectivePolicy) -> TurnQueue.LineState {
    guard let host, let gate = context.gate else { return .free }
    return gate.assumeIsolated { gate in
      gate.isShut(host, policy) ? gate.isAwaited(host) ? .awaited : .shut : .free
    }
  }

  /// A transfer that lent its place wants it back.
  func wish(_ slot: Slot) {
    returning.append(slot)
    grantReturning()
    if !returning.isEmpty { wake() }
  }

  /// Gives places back to those that lent them, as they come free.
  func grantReturning() {
    guard !returning.isEmpty else { return }
    let all = returning
    returning = []
    for slot in all {
      guard let group = groups[slot.key], group.isFree else {
        returning.append(slot)
        continue
      }
      group.take()
      slot.granted()
    }
  }
}
