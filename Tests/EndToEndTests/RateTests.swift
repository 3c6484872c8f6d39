import Foundation
import TestSupport
import Testing

/// Rate limits as the server sees them: what it wrote to its sockets, or read from them.
@Suite(.turns, .timeLimit(.minutes(30)))
struct RateTests {
  struct Case: Sendable, CustomStringConvertible {
    var cap: Int
    var transfers: Int
    var isUpload = false
    var description: String { "\(cap) B/s, \(transfers) \(isUpload ? "up" : "down")" }

    /// The promise is about time, and so is this; all of its cases take minutes: `make rates`.
    static var wanted: [Case] {
      guard ProcessInfo.processInfo.environment["HAUL_RATES"] != nil else {
        return [Case(cap: 1_000_000, transfers: 4), Case(cap: 1_000_000, transfers: 4, isUpload: true)]
      }
      return [false, true].flatMap { isUpload in
        [64_000, 1_000_000, 50_000_000].flatMap { cap in
          [1, 4, 16].map { Case(cap: cap, transfers: $0, isUpload: isUpload) }
        }
      }
    }
  }

  @Test(arguments: Case.wanted) func theServersOwnMeasure(_ one: Case) async throws {
    let bench = try Bench()
    let seconds = ProcessInfo.processInfo.environment["HAUL_RATES"] == nil ? 14 : 24
    let size = one.cap * (seconds + 10) / one.transfers
    let server = try await MeteredServer(bench, size: size, buffer: min(262_144, max(4096, one.cap / 128)))
    let connections = max(8, one.transfers)
    var lines: [String] = []
    for index in 0..<one.transfers {
      if one.isUpload { try bench.source("u\(index).bin", size: size) }
      lines.append(
        one.isUpload
          ? "  - { id: t\(index), upload: u\(index).bin, to: \"web:u\(index)\" }"
          : "  - { id: t\(index), download: \"web:d\(index)\", to: d\(index).bin }")
    }
    try bench.writeJob(
      """
      version: 1
      job: rate
      endpoints: { web: { type: http, url: \(server.url) } }
      policies:
        slow: { transfers: \(one.transfers), connections: { total: \(connections), per_host: \(connections) }, bandwidth: \(one.cap)B/s }
      defaults: { policy: slow }
      transfers:
      \(lines.joined(separator: "\n"))

      """)
    let running = try bench.start(bench.runArguments())
    // The sockets' buffers fill first.
    let settling = 300
    var bytes: [Int] = []
    while bytes.count < seconds * 100 + 20, running.isAlive {
      try await Task.sleep(for: .milliseconds(200))
      bytes = server.bytes()
    }
    running.signal(SIGKILL)
    try #require(bytes.count > settling + 1000, "\(running.errors)")
    let steady = Array(bytes[settling...].dropLast(5))
    func windows(_ length: Int) -> [Double] {
      var sum = steady[..<length].reduce(0, +)
      var sums = [sum]
      for end in length..<steady.count {
        sum += steady[end] - steady[end - length]
        sums.append(sum)
      }
      return sums.map { Double($0) * 100 / Double(length) / Double(one.cap) }
    }
    let tens = windows(1000)
    let ones = windows(100)
    let text = "10 s: \(tens.min() ?? 0)…\(tens.max() ?? 0), 1 s: \(ones.min() ?? 0)…\(ones.max() ?? 0)"
    if ProcessInfo.processInfo.environment["HAUL_RATES"] != nil { print("\(one): \(text)") }
    #expect(tens.allSatisfy { abs($0 - 1) <= 0.05 }, "\(one): \(text)")
    #expect(ones.allSatisfy { $0 <= 1.1 }, "\(one): \(text)")
  }
}
