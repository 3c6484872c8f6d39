import Foundation
import TestSupport
import Testing

/// How hard a host is asked: what it can't take is not sent, and what is dead holds nobody up.
@Suite(.turns)
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
    // `per_host` and no more, whatever happens.
    #expect(
      requests.allSatisfy { $0["open"].int ?? 99 <= 4 },
      "\(requests.compactMap { $0["open"].int }.max() ?? 0)")
    // After a 429 the whole host rests for the second that it asked for: only what was on its way arrives, on three
    // connections, and what followed an answer that was read on a busy machine before the refusal was.
    #expect(!server.refusals().isEmpty)
    for refusal in server.refusals() {
      let meanwhile = requests.filter {
        let at = $0["at"].double ?? 0
        return at > refusal.ended && at < refusal.begun + 0.95
      }
      #expect(meanwhile.count <= 6, "\(meanwhile.count) requests within the rest")
    }
    let changes = JSON.lines(bench.scratch.path + "/events").filter { $0["event"].string == "host_state" }
    #expect(changes.contains { $0["change"].string == "slowed" }, "\(changes)")
    #expect(run.remarks.contains("HTTP 429"), "\(run.remarks)")
  }

  enum Death: String, Sendable, CaseIterable { case silent, refusing, blackHole }

  /// A host that takes connections and never answers, refuses them, or swallows them, among nine that do; it stands
  /// first in the queue. What it costs the others is compared with the same run without it.
  @Test(arguments: Death.allCases) func aDeadHostAmongTen(_ death: Death) async throws {
    let bench = try Bench()
    try bench.serve("f", size: 20_000)
    var fine: [PolicyServer] = []
    for number in 1...9 {
      fine.append(
        try await PolicyServer(bench) {
          $0.address = "127.0.1.\(number)"
          // A file takes a quarter of a second, whatever else the machine does.
          $0.rate = 80_000
        })
    }
    let dead = try await PolicyServer(bench) {
      $0.address = "127.0.1.10"
      $0.moods = ["stall"]
    }
    let url: String
    switch death {
    case .silent: url = dead.url
    case .refusing: url = "http://127.0.1.10:1"
    // Its one place for connections that nobody accepts is taken: further ones get no answer to their first packet.
    case .blackHole: url = "http://127.0.1.11:\(try await bench.blackHole("127.0.1.11"))"
    }
    func run(_ name: String, hasDead: Bool) async throws -> HaulRun {
      let lost =
        hasDead
        ? (0..<6).map {
          "  - { id: dead\($0), download: \(quoted(url + "/plain/f")), to: \(name)/dead\($0) }"
        } : []
      let well = (0..<108).map {
        "  - { id: fine\($0), download: \(quoted(fine[$0 % 9].url + "/plain/f")), to: \(name)/fine\($0) }"
      }
      return try await bench.run(
        """
        version: 1
        job: \(name)
        defaults:
          policy:
            transfers: 4
            retry: { attempts: 3, initial: 300ms, max: 1s }
            timeouts: { connect: 2s, request: 2s }
            network: { proxy: none }
        transfers:
        \((lost + well).joined(separator: "\n"))
        """, ["--events", bench.scratch.path + "/" + name])
    }
    /// Seconds from the run's start to the last of those that complete.
    func span(_ name: String) throws -> Double {
      let events = JSON.lines(bench.scratch.path + "/" + name)
      func time(_ event: JSON) throws -> Double { try #require(Self.seconds(event["at"].string)) }
      let last = try #require(events.last { $0["to"].string == "completed" })
      return try time(last) - time(try #require(events.first))
    }
    let alone = try await run("alone", hasDead: false)
    let mixed = try await run("mixed", hasDead: true)
    #expect(alone.status == 0 && mixed.status == 75, "\(alone.errors) \(mixed.errors)")
    for index in 0..<108 { #expect(mixed.state("fine\(index)") == "completed") }
    for index in 0..<6 {
      #expect(mixed.state("dead\(index)").hasPrefix("paused retries"), "\(mixed.state("dead\(index)"))")
      // A retry that the breaker kept from being sent is none.
      let (requests, retries) = (
        mixed["dead\(index)"]["requests"].int ?? 0, mixed["dead\(index)"]["retries"].int ?? 9
      )
      #expect(retries <= max(0, requests - 1), "\(retries) retries, \(requests) requests")
    }
    // Six transfers with three tries each would be eighteen requests, two seconds each, in two places.
    if death == .silent { #expect(dead.requests().count <= 7, "\(dead.requests().count)") }
    #expect(mixed.remarks.contains("got no answer"), "\(mixed.remarks)")
    // It is asked once at a time, and holds none of their places: on a machine of its own less than 5 % are lost to it.
    let (without, with) = (try span("alone"), try span("mixed"))
    let isMeasured = ProcessInfo.processInfo.environment["HAUL_RATES"] != nil
    if isMeasured {
      print("\(death): \(without) s, with a dead host \(with) s: \((with / without - 1) * 100) %")
    }
    // Elsewhere the eighteen requests would take as long as all else, and as long again.
    #expect(with <= without * (isMeasured ? 1.05 : 2.5), "\(without) s, with a dead host \(with) s")
  }

  /// A place that a silent host's transfer lent is not used twice once the host speaks.
  @Test func aHostThatSpeaksLate() async throws {
    let bench = try Bench()
    let server = try await LateServer(bench)
    let run = try await bench.run(
      """
      version: 1
      job: late
      defaults: { policy: { transfers: 1, network: { proxy: none } } }
      transfers:
        - { id: late, download: "\(server.late)/f", to: late }
        - { id: prompt, download: "\(server.prompt)/f", to: prompt }
      """)
    #expect(run.status == 0 && run.faults == "", "\(run.errors)")
    let log = server.log()
    // The first answer came while the other transfer moved, and was dropped; it cost no try.
    #expect(log.map { $0["what"].string } == ["late dropped", "prompt", "late"], "\(log)")
    #expect(run["late"]["retries"].int == 0 && run["late"]["requests"].int == 2)
    #expect(run["late"]["bytes"]["transferred"].int == run["late"]["size"].int)
  }

  private static func seconds(_ text: String?) -> Double? {
    guard let text else { return nil }
    let format = ISO8601DateFormatter()
    format.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
    return format.date(from: text)?.timeIntervalSince1970
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
