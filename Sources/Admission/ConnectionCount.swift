/// Requests under way that share the `connections` of one policy, or of the job.
struct ConnectionCount: Sendable {
  private var total = 0
  private var perHost: [String: Int] = [:]

  func hasRoom(for host: String, total most: Int, perHost mostPerHost: Int) -> Bool {
    total < most && perHost[host, default: 0] < mostPerHost
  }

  mutating func begin(_ host: String) {
    total += 1
    perHost[host, default: 0] += 1
  }

  mutating func end(_ host: String) {
    total -= 1
    let left = perHost[host, default: 0] - 1
    perHost[host] = left > 0 ? left : nil
  }
}
