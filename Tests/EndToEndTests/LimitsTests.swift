import Foundation
import TestSupport
import Testing

/// `limits`: what caps all policies of a job together.
@Suite(.turns)
struct LimitsTests {
  /// Eight downloads, half of them under each of two policies that allow four at a time.
  private func bench(_ limits: String, size: Int = 20_000, rate: Int? = nil) async throws -> (
    Bench, PolicyServer
  ) {
    let bench = try Bench()
    let web = try await PolicyServer(bench) { $0.rate = rate }
    let transfers = try (0..<8).map { number in
      try bench.serve("f\(number)", size: size, seed: UInt64(number))
      let policy = number % 2 == 0 ? "even" : "odd"
      return "  - { id: f\(number), download: \"web:plain/f\(number)\", to: f\(number), policy: \(policy) }\n"
    }
    try bench.writeJob(
      """
      version: 1
      job: capped
      endpoints: { web: { type: http, url: \(quoted(web.url)) } }
      policies:
        even: { transfers: 4 }
        odd: { transfers: 4, connections: { per_host: 4 } }
      \(limits)
      transfers:
      \(transfers.joined())

      """)
    return (bench, web)
  }

  @Test(
    arguments: [
      ("x-limits: none", 3...8), ("limits: { transfers: 1 }", 1...1), ("limits: { connections: 2 }", 2...2),
      ("limits: { connections: { per_host: 2 } }", 2...2),
    ] as [(String, ClosedRange<Int>)])
  func inFlight(_ limits: String, most: ClosedRange<Int>) async throws {
    let (bench, web) = try await bench(limits, rate: 40_000)
    let run = try await bench.run(nil)
    #expect(run.status == 0, "\(run.errors)")
    let open = web.requests().compactMap { $0["open"].int }.max() ?? 0
    #expect(most.contains(Int(open)), "\(open) at a time")
  }

  /// Neither policy has a rate of its own; `haul limit` caps the job's, and does not lift it.
  @Test func bandwidth() async throws {
    let (bench, _) = try await bench("limits: { bandwidth: 100KB/s }", size: 40_000)
    let run = try await bench.run(nil)
    // 320 KB, less a second's burst.
    #expect(run.status == 0 && run.end.seconds > 1.8, "\(run.end.seconds) \(run.errors)")
    #expect(try await bench.haul(["limit", "capped", "900MB/s"]).status == 0)
    for number in 0..<8 { try FileManager.default.removeItem(atPath: bench.job + "/f\(number)") }
    let second = try await bench.run(nil)
    #expect(second.status == 0 && second.end.seconds > 1.8, "\(second.end.seconds)")
  }

  @Test func aBudgetIsKeptAcrossRuns() async throws {
    let (bench, web) = try await bench(
      "limits: { transfers: 1, budget: { bytes: 300KB, per: month } }", size: 100_000)
    let run = try await bench.run(nil)
    #expect(run.status == 75, "\(run.errors)")
    let states = (0..<8).map { run.state("f\($0)") }
    #expect(states.contains("completed") && states.count { $0 == "paused budget" } >= 4, "\(states)")
    let paused = try #require(states.firstIndex(of: "paused budget"))
    #expect(run["f\(paused)"]["resumes_at"].string != nil)
    let before = web.requests().count
    let second = try await bench.run(nil, ["--new-run"])
    #expect(second.status == 75 && second.transferred == 0, "\(second.errors)")
    for index in states.indices where states[index] == "completed" {
      #expect(second.state("f\(index)") == "up_to_date", "it is looked at: that moves no body")
    }
    // What is there may be looked at; no bodies are asked for.
    #expect(web.requests()[before...].allSatisfy { $0["method"].string != "GET" })
  }
}
