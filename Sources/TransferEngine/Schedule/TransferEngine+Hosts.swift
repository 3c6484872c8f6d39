import JobLedger
import JobModel

/// Turns while hosts rest: nothing is begun for a host that is shut, and places are lent meanwhile.
extension TransferEngine {
  func isShut(_ host: String?, _ policy: EffectivePolicy) -> Bool {
    guard let host, let gate = context.gate else { return false }
    return gate.assumeIsolated { $0.isShut(host, policy) }
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
