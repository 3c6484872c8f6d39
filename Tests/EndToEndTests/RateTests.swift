import Foundation
import TestSupport
import Testing

/// Rate limits as the server sees them: what it wrote to its sockets, or read from them.
@Suite(.turns)
struct RateTests {
  struct Case: Sendable, CustomStringConvertible {
    var cap: Int
    var transfers: Int
    var isUpload = false
    var description: String { "\(cap) B/s, \(transfers) \(isUpload ? "up" : "down")" }

    /// The promise is about time, and so is this; all of its cases take minutes: `make rates`.
    static var wanted: [Case] {
      guard RateTests.isMeasured else {
        return [Case(cap: 1_000_000, transfers: 4), Case(cap: 1_000_000, transfers: 4, isUpload: true)]
      }
      return [false, true].flatMap { isUpload in
        [64_000, 1_000_000, 50_000_000].flatMap { cap in
          [1, 4, 16].map { Case(cap: cap, transfers: $0, isUpload: isUpload) }
        }
      }
    }
  }

  /// All measured, on a machine that does nothing else.
  private static let isMeasured = ProcessInfo.processInfo.environment["HAUL_RATES"] != nil

  private func bench(_ one: Case, size: Int, lowest: Int? = nil) async throws -> (Bench, MeteredServer) {
    let bench = try Bench()
    let buffer = min(262_144, max(4096, (lowest ?? one.cap) / 128))
    let server = try await MeteredServer(bench, size: size, buffer: buffer)
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
    return (bench, server)
  }

  /// Shares of the cap that every window of so many hundredths of a second saw.
  private func windows(_ bytes: [Int], _ length: Int, cap: Int) -> [Double] {
    var sum = bytes[..<length].reduce(0, +)
    var sums = [sum]
    for end in length..<bytes.count {
      sum += bytes[end] - bytes[end - length]
      sums.append(sum)
    }
    return sums.map { Double($0) * 100 / Double(length) / Double(cap) }
  }

  @Test(arguments: Case.wanted) func theServersOwnMeasure(_ one: Case) async throws {
    let seconds = Self.isMeasured ? 24 : 14
    let (bench, server) = try await bench(one, size: one.cap * (seconds + 10) / one.transfers)
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
    let tens = windows(steady, 1000, cap: one.cap)
    let ones = windows(steady, 100, cap: one.cap)
    let text = "10 s: \(tens.min() ?? 0)…\(tens.max() ?? 0), 1 s: \(ones.min() ?? 0)…\(ones.max() ?? 0)"
    if Self.isMeasured { print("\(one): \(text)") }
    #expect(tens.allSatisfy { abs($0 - 1) <= 0.05 }, "\(one): \(text)")
    #expect(ones.allSatisfy { $0 <= 1.1 }, "\(one): \(text)")
  }

  /// Transfers that run already keep to a lower cap within a second, and go on at the higher one again.
  @Test(arguments: [
    Case(cap: 4_000_000, transfers: 4), Case(cap: 4_000_000, transfers: 4, isUpload: true),
    Case(cap: 10_000_000, transfers: 1),
  ]) func aCapLoweredLive(_ one: Case) async throws {
    let low = 500_000
    let (bench, server) = try await bench(one, size: 40_000_000, lowest: low)
    let running = try bench.start(bench.runArguments())
    func until(_ what: String, _ isThere: () -> Bool) async throws {
      for _ in 0..<600 where running.isAlive {
        if isThere() { return }
        try await Task.sleep(for: .milliseconds(100))
      }
      throw TestFault("\(what) did not come: \(running.errors)")
    }
    try await until("a megabyte") { server.bytes().reduce(0, +) > 1_000_000 }
    #expect(try await bench.haul(["limit", "rate", "\(low)B/s"]).status == 0)
    let later = MeteredServer.now + 1
    try await until("four seconds") { server.bytes(since: later).count > 400 }
    let ones = windows(server.bytes(since: later), 100, cap: low)
    let text = "\(one): 1 s: \(ones.min() ?? 0)…\(ones.max() ?? 0)"
    if Self.isMeasured { print("lowered to \(low) B/s, \(text)") }
    // Among other tests a server that gets the processor late takes two steps at once.
    #expect(ones.allSatisfy { $0 <= (Self.isMeasured ? 1.1 : 1.4) }, "\(text)")
    #expect(ones.reduce(0, +) / Double(ones.count) > 0.5, "\(text)")
    #expect(try await bench.haul(["limit", "rate", "default"]).status == 0)
    let back = MeteredServer.now
    try await until("the old rate") {
      let bytes = server.bytes(since: back)
      return bytes.count > 100 && (windows(bytes, 100, cap: one.cap).max() ?? 0) > 0.5
    }
    running.signal(SIGKILL)
  }
}
