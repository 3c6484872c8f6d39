import Foundation
import TestSupport
import Testing

/// How hard a host is asked: what it can't take is not sent, and what is dead holds nobody up.
@Suite(.turns, .timeLimit(.minutes(15)))
struct HostHealthTests {
  /// 429 with Retry-After, 503, resets and stalls by turns.
  @Test func aMoodyServer() async throws {
    let bench = try Bench()
    let ids = (0..<32).map { "f\($0)" }
    for id in ids { try bench.serve(id, size: 2000, seed: 7) }
    let well = Array(repeating: "ok", count: 4)
    let server = try await PolicyServer(bench) {
      $0.moods = well + ["429"] + well + ["503"] + well + ["reset"] + well + ["stall"]
    }
    let list = ids.map { "  - { id: \($0), download: \(quoted(server.url + "/plain/" + $0)), to: \($0) }" }
    let run = try await bench.run(
      """
      version: 1
      job: moody
      defaults:
        policy:
          transfers: 6
          connections: { per_host: 4 }
          retry: { initial: 100ms, max: 2s }
          timeouts: { request: 1s }
          network: { proxy: none }
      transfers:
      \(list.joined(separator: "\n"))
      """, ["--events", bench.scratch.path + "/events"])
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.faults == "")
    for id in ids { #expect(try bench.isSame(id, id)) }
    // One GET for each file is the least.
    let requests = server.requests()
    #expect(requests.count <= 2 * ids.count, "\(requests.count) requests")
    #expect(
      requests.contains { $0["mood"].string == "429" } && requests.contains { $0["mood"].string == "stall" })
    // After a 429 the whole host rests for the second that it asked for: only what was on its way arrives.
    for (index, request) in requests.enumerated() where request["mood"].string == "429" {
      let at = request["at"].double ?? 0
      let meanwhile = requests[(index + 1)...].filter { ($0["at"].double ?? 0) < at + 0.95 }
      #expect(meanwhile.count <= 3, "\(meanwhile.count) requests within the rest")
    }
    let changes = JSON.lines(bench.scratch.path + "/events").filter { $0["event"].string == "host_state" }
    #expect(changes.contains { $0["change"].string == "slowed" }, "\(changes)")
    #expect(run.remarks.contains("HTTP 429"), "\(run.remarks)")
  }

  /// A host that takes connections and never answers, among nine that do; it stands first in the queue.
  @Test func aDeadHostAmongTen() async throws {
    let bench = try Bench()
    try bench.serve("f", size: 50_000)
    let server = try await PolicyServer(bench)
    let dead = try await PolicyServer(bench) {
      $0.address = "127.0.0.9"
      $0.moods = ["stall"]
    }
    func entry(_ id: String, _ url: String) -> String {
      "  - { id: \(id), download: \(quoted(url + "/plain/f")), to: \(id) }"
    }
    let lost = (0..<6).map { entry("dead\($0)", dead.url) }
    // One server under nine names is nine hosts to haul.
    let fine = (0..<36).map { entry("fine\($0)", "http://127.0.0.1:\(server.port)") }
    let run = try await bench.run(
      """
      version: 1
      job: dead
      defaults:
        policy:
          transfers: 2
          retry: { attempts: 3, initial: 300ms, max: 1s }
          timeouts: { request: 2s }
          network: { proxy: none }
      transfers:
      \((lost + fine).joined(separator: "\n"))
      """, ["--events", bench.scratch.path + "/events"])
    #expect(run.status == 75, "\(run.errors)")
    for index in 0..<36 { #expect(run.state("fine\(index)") == "completed") }
    for index in 0..<6 { #expect(run.state("dead\(index)") == "paused retries TIMEOUT") }
    // Six transfers with three tries each would be eighteen requests, two seconds each, in two places.
    #expect(dead.requests().count <= 7, "\(dead.requests().count)")
    let events = JSON.lines(bench.scratch.path + "/events")
    let lastFine = events.lastIndex { $0["to"].string == "completed" } ?? .max
    let givenUp = events.firstIndex { $0["change"].string == "given_up" } ?? -1
    #expect(lastFine < givenUp, "the dead host held the others up")
    #expect(run.remarks.contains("came to no answer"), "\(run.remarks)")
  }

  /// `connections` are a policy's own.
  @Test func connectionsOfAPolicy() async throws {
    let bench = try Bench()
    try bench.serve("f", size: 200_000)
    let server = try await PolicyServer(bench) { $0.rate = 400_000 }
    let list = (0..<6).map {
      "  - { id: f\($0), download: \(quoted(server.url + "/plain/f")), to: f\($0), policy: narrow }"
    }
    let run = try await bench.run(
      """
      version: 1
      job: narrow
      policies:
        narrow: { transfers: 6, connections: { per_host: 1 }, network: { proxy: none } }
        wide: { transfers: 6, connections: { per_host: 20 } }
      transfers:
      \(list.joined(separator: "\n"))
      """)
    #expect(run.status == 0, "\(run.errors)")
    // One at a time over one connection that is kept.
    #expect(server.log().count { $0["method"].string == "connection" } == 1)
  }
}
