/// Requests under way under one policy, to keep to its `connections`.
///
/// Used on the transport's executor alone, hence sendable to it.
final class ConnectionUse: @unchecked Sendable {
  private(set) var total = 0
  private var perHost: [String: Int] = [:]

  func count(_ host: String) -> Int { perHost[host, default: 0] }

  func begin(_ host: String) {
    total += 1
    perHost[host, default: 0] += 1
  }

  func end(_ host: String) {
    total -= 1
    let left = count(host) - 1
    perHost[host] = left > 0 ? left : nil
  }
}
