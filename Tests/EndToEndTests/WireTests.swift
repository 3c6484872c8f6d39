import Foundation
import TestSupport
import Testing

/// How a policy's requests travel: the version of HTTP, the family of addresses, a network that is away.
@Suite(.turns)
struct WireTests {
  private func yaml(_ url: String, _ policy: String) -> String {
    """
    version: 1
    job: wire
    defaults: { chunk_size: 256KiB }
    endpoints: { web: { type: http, url: \(quoted(url)) } }
    transfers:
      - { id: down, download: "web:f", to: f, refresh: always, policy: \(policy) }
      - { id: up, upload: u, to: "web:in/u", refresh: always, policy: \(policy) }
    """
  }

  /// `auto` means 1.1, also where the server would speak 2; 2 is asked for, and a server that has none still serves.
  @Test(.enabled(if: Nginx.isInstalled, "needs nginx")) func versions() async throws {
    let bench = try Bench()
    try bench.serve("f", size: 3_000_000)
    try bench.source("u", size: 500_000)
    let own = try Authority(bench, "own")
    let pair = try own.issue("good", host: "IP:127.0.0.1")
    let new = try await Nginx(bench) {
      $0.certificate = pair
      $0.isHTTP2 = true
    }
    let old = try await Nginx(bench) { $0.certificate = pair }
    for (server, wanted, spoken) in [
      (new, "auto", "HTTP/1.1"), (new, "1.1", "HTTP/1.1"), (new, "2", "HTTP/2.0"), (old, "2", "HTTP/1.1"),
    ] {
      let before = server.log().count
      let policy = "{ http: { version: \(quoted(wanted)) }, tls: { ca_file: \(quoted(own.ca)) } }"
      let run = try await bench.run(yaml(server.url, policy), ["--new-run"])
      #expect(run.status == 0 && run.faults == "", "\(wanted): \(run.errors)")
      let visits = server.log()[before...]
      #expect(
        visits.contains { $0["method"].string == "GET" } && visits.contains { $0["method"].string == "PUT" })
      #expect(visits.allSatisfy { $0["version"].string == spoken }, "\(wanted): \(visits)")
      #expect(
        run.report["policies"][run["down"]["policy"]["ref"].string ?? ""]["http"]["version"].string == wanted)
      #expect(try bench.isSame("f", "f"))
      #expect(try Sums.file(bench.served + "/in/u") == Sums.file(bench.job + "/u"))
    }
  }

  /// A server that only says that it is at work has not answered: the time limits hold, however often it says so.
  @Test(arguments: [
    ("102 Processing", 0.1, "TIMEOUT"), ("102 Processing", 0, "PROTOCOL_VIOLATION"),
    ("100 Continue", 0.1, "TIMEOUT"),
  ])
  func interimAnswersWithoutEnd(_ status: String, _ pause: Double, _ code: String) async throws {
    let bench = try Bench()
    try bench.source("u", size: 500_000)
    let url = try await bench.interimServer(status, pause: pause)
    let policy = "{ timeouts: { request: 1s, stall: 1s }, retry: { attempts: 2, initial: 10ms, max: 10ms } }"
    let run = try await bench.run(yaml(url, policy))
    #expect(run.faults == "")
    for id in ["down", "up"] { #expect(run.state(id).hasSuffix(code), "\(run.state(id)): \(run.errors)") }
  }

  /// libcurl 7.88.1 can call a body whole that HTTP/2 broke off: haul counts.
  @Test(.enabled(if: Nginx.isInstalled, "needs nginx")) func aBrokenBodyOfVersion2() async throws {
    let bench = try Bench()
    try bench.serve("f", size: 3_000_000)
    let own = try Authority(bench, "own")
    let pair = try own.issue("good", host: "IP:127.0.0.1")
    let server = try await Nginx(bench) {
      $0.certificate = pair
      $0.isHTTP2 = true
      $0.rate = 50_000
    }
    try bench.writeJob(
      """
      version: 1
      job: broken
      defaults: { chunk_size: 64KiB }
      transfers:
        - id: a
          download: \(quoted(server.url + "/f"))
          to: f
          policy:
            http: { version: "2" }
            tls: { ca_file: \(quoted(own.ca)) }
            retry: { attempts: 2, initial: 10ms }
      """)
    let run = try await Midway.meet(bench, after: 2, of: ["a"]) { server.process.signal(SIGKILL) }
    #expect(run.status == 75 && run.state("a") == "paused retries NETWORK_UNREACHABLE", "\(run.errors)")
    #expect(!bench.exists("f") && (run["a"]["contiguous_bytes"].int ?? 0) < 3_000_000)
  }

  @Test(.enabled(if: Nginx.isInstalled, "needs nginx")) func families() async throws {
    let bench = try Bench()
    try bench.serve("f", size: 100_000)
    try bench.source("u", size: 1000)
    let both = try await Nginx(bench) { $0.addresses = ["127.0.0.1", "[::1]"] }
    let (four, six) = (try await Nginx(bench), try await Nginx(bench) { $0.addresses = ["[::1]"] })
    for (family, place) in [("4", "127.0.0.1"), ("6", "::1")] {
      let before = both.log().count
      let run = try await bench.run(
        yaml("http://localhost:\(both.port)", "{ network: { ip: \(family), proxy: none } }"), ["--new-run"])
      #expect(run.status == 0, "ip: \(family): \(run.errors)")
      let visits = both.log()[before...]
      #expect(visits.count >= 2 && visits.allSatisfy { $0["to"].string == place }, "\(visits)")
    }
    // The other family is not fallen back to.
    for (server, family) in [(four, "6"), (six, "4")] {
      let run = try await bench.run(
        yaml(
          "http://localhost:\(server.port)",
          "{ network: { ip: \(family), proxy: none }, retry: { attempts: 1 } }"), ["--new-run"])
      #expect(run.state("down") == "paused retries NETWORK_UNREACHABLE", "\(run.errors)")
      #expect(server.log().isEmpty)
      let any = try await bench.run(
        yaml("http://localhost:\(server.port)", "{ network: { ip: any, proxy: none } }"), ["--new-run"])
      #expect(any.status == 0 && !server.log().isEmpty, "\(any.errors)")
    }
  }

  /// A machine without any network waits for one, and burns no attempts meanwhile.
  @Test(.enabled(if: TwoLinks.isPossible, "needs root and ip")) func aNetworkThatIsAway() async throws {
    let (bench, links, server) = try await TwoLinks.serving("f", size: 1 << 20)
    for link in ["left", "right"] { try links.down(link) }
    try bench.writeJob(
      """
      version: 1
      job: away
      transfers:
        - id: a
          download: http://\(TwoLinks.address):\(server.port)/plain/f
          to: f
          policy: { network: { proxy: none }, retry: { attempts: 2, initial: 10ms, max: 50ms } }
      """)
    let events = bench.scratch.path + "/events"
    let running = try bench.start(through: links.inClient, bench.runArguments(["--events", events]))
    for _ in 0..<1500 where running.isAlive {
      if JSON.lines(events).contains(where: { $0["change"].string == "no_network" }) { break }
      try await Task.sleep(for: .milliseconds(20))
    }
    let waiting = try await bench.haul(["status", "away"])
    #expect(waiting.output.contains("has no network"), "\(waiting.output)")
    let json = try await bench.haul(["status", "away", "--json"])
    let told = try JSON.parse(json.output)["job"]["hosts"].array
    #expect(
      told.map { $0["change"].string } == ["no_network"] && told.first?["since"].string != nil, "\(told)")
    let file = try bench.scratch.write("status.json", json.output)
    #expect(try await Schema.faults(of: file, name: "report") == "")
    // Long enough for two attempts and more, had they been made.
    try await Task.sleep(for: .seconds(2))
    #expect(running.isAlive, "\(running.errors)")
    try await links.up("left")
    let run = try await HaulRun(try await running.wait(), reportPath: bench.reportPath)
    #expect(run.status == 0 && run.faults == "", "\(run.errors)")
    #expect(try bench.isSame("f", "f"))
    #expect(run.report["run"]["attempt"].int == 1 && run["a"]["requests"].int ?? 99 <= 3, "\(run["a"])")
    #expect(run.remarks.contains("this machine has no network"), "\(run.remarks)")
    let after = try await bench.haul(["status", "away", "--json"])
    #expect(try JSON.parse(after.output)["job"]["hosts"].array.isEmpty)
    let changes = JSON.lines(events).compactMap { $0["change"].string }
    #expect(changes.contains("network_back"), "\(changes)")
    // With `--no-wait` it is a failure like others: paused, for the next run.
    try links.down("left")
    let other = try await bench.run(
      through: links.inClient,
      """
      version: 1
      job: away2
      transfers:
        - id: a
          download: http://\(TwoLinks.address):\(server.port)/plain/f
          to: g
          policy: { network: { proxy: none }, retry: { attempts: 2, initial: 10ms, max: 50ms } }
      """, ["--no-wait"])
    #expect(other.status == 75 && other.state("a") == "paused retries NETWORK_UNREACHABLE", "\(other.errors)")
  }
}
