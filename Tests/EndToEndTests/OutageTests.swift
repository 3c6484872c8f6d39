import Foundation
import TestSupport
import Testing

/// Hosts that answer and are not there: load balancers without a host behind them, servers that want to rest for long.
@Suite(.turns)
struct OutageTests {
  private func job(_ transfers: [String], _ policy: String) -> String {
    """
    version: 1
    job: outage
    defaults: { policy: { \(policy), network: { proxy: none } } }
    transfers:
    \(transfers.map { "  - " + $0 }.joined(separator: "\n"))
    """
  }

  /// 500 files, and a 503 for each: about as many requests as where the port is shut. The next run asks once.
  @Test(arguments: [503, 502]) func aLoadBalancerWithoutAHost(_ status: Int) async throws {
    let bench = try Bench()
    let server = try await WordedServer(bench, [.init("", status: status, body: "no host")])
    let files = (0..<500).map { "{ id: f\($0), download: \(quoted(server.url + "/f\($0)")), to: f\($0) }" }
    let yaml = job(files, "transfers: 16, retry: { attempts: 8, initial: 20ms, max: 5s }")
    let first = try await bench.run(yaml)
    #expect(first.status == 75 && first.totals["paused"].int == 500, "\(first.errors.suffix(500))")
    #expect(first.faults == "")
    #expect(server.log().count <= 16, "\(server.log().count) requests")
    #expect(first.remarks.contains("HTTP \(status)"), "\(first.remarks)")
    let before = server.log().count
    let second = try await bench.run(yaml)
    #expect(second.status == 75 && second.totals["paused"].int == 500)
    #expect(server.log().count - before <= 3, "\(server.log().count - before) requests")
    try server.set([.init("", body: "there")])
    let third = try await bench.run(yaml)
    #expect(third.status == 0, "\(third.errors.suffix(500))")
  }

  /// A host that a run gave up, and that answers again all but the first file: the others are not refused for that one.
  @Test func oneFileDoesNotGiveAHostUpAgain() async throws {
    let bench = try Bench()
    let server = try await WordedServer(bench, [.init("", status: 503, body: "no host")])
    let files = (0..<50).map { "{ id: f\($0), download: \(quoted(server.url + "/f\($0)")), to: f\($0) }" }
    let yaml = job(files, "transfers: 4, retry: { attempts: 3, initial: 20ms, max: 5s }")
    let first = try await bench.run(yaml)
    #expect(first.status == 75 && first.totals["paused"].int == 50, "\(first.errors.suffix(500))")
    try server.set([.init("/f0", status: 504), .init("", body: "there")])
    let second = try await bench.run(yaml)
    #expect(second.status == 75 && second.totals["completed"].int == 49, "\(second.errors.suffix(500))")
    #expect(second.state("f0") == "paused retries SERVER_ERROR")
  }

  /// What one file is answered says nothing of its host.
  @Test(arguments: [500, 503]) func oneFileIsNoOutage(_ status: Int) async throws {
    let bench = try Bench()
    let server = try await WordedServer(bench, [.init("/bad", status: status), .init("", body: "there")])
    var files = (0..<100).map { "{ id: f\($0), download: \(quoted(server.url + "/f\($0)")), to: f\($0) }" }
    files.insert("{ id: bad, download: \(quoted(server.url + "/bad")), to: bad }", at: 0)
    let run = try await bench.run(
      job(files, "transfers: 4, retry: { attempts: 3, initial: 20ms, max: 100ms }"))
    #expect(run.status == 75 && run.totals["completed"].int == 100, "\(run.errors.suffix(500))")
    #expect(run.state("bad") == "paused retries SERVER_ERROR")
  }

  /// `retry` asks a server again that asked for a rest, with and without a run that waits for it.
  @Test(arguments: [true, false]) func retryEndsARest(_ isRunning: Bool) async throws {
    let bench = try Bench()
    let server = try await WordedServer(
      bench, [.init("", status: 429, headers: ["Retry-After": "3600"])])
    let yaml = job(["{ id: f, download: \(quoted(server.url + "/f")), to: f }"], "retry: { attempts: 2 }")
    #expect(try await bench.run(yaml).status == 75)
    try server.set([.init("", body: "there")])
    let run = isRunning ? try bench.start(bench.runArguments()) : nil
    while let run, run.isAlive, !run.errors.contains("paused (retries)") {
      try await Task.sleep(for: .milliseconds(10))
    }
    let retry = try await bench.haul(["retry", "outage"])
    #expect(retry.status == 0, "\(retry.errors)")
    let end =
      if let run { try await run.wait(.seconds(60)) } else { try await bench.haul(bench.runArguments()) }
    #expect(end.status == 0, "\(end.errors)")
    #expect(server.log().count == 2)
  }

  /// Also one that the transfer waits for itself, between two tries.
  @Test func retryEndsARestBetweenTwoTries() async throws {
    let bench = try Bench()
    let server = try await WordedServer(
      bench, [.init("", status: 429, headers: ["Retry-After": "300"])])
    try bench.writeJob(
      job(["{ id: f, download: \(quoted(server.url + "/f")), to: f }"], "retry: { attempts: 2 }"))
    let run = try bench.start(bench.runArguments())
    while run.isAlive, !run.errors.contains("trying again") {
      try await Task.sleep(for: .milliseconds(10))
    }
    try server.set([.init("", body: "there")])
    #expect(try await bench.haul(["retry", "outage"]).status == 0)
    let end = try await run.wait(.seconds(120))
    #expect(end.status == 0, "\(end.errors)")
    #expect(server.log().count == 2)
  }

  /// A policy's deadline, `--deadline` and SIGTERM end a run that waits for a server's rest that is on record.
  @Test(arguments: ["3600", "Fri, 31 Dec 9999 23:59:59 GMT"], ["policy", "option", "signal"])
  func aRestIsNoLongerThanTheRun(_ wish: String, _ way: String) async throws {
    let bench = try Bench()
    let server = try await WordedServer(bench, [.init("", status: 429, headers: ["Retry-After": wish])])
    let file = ["{ id: f, download: \(quoted(server.url + "/f")), to: f }"]
    let retry = "retry: { attempts: 2, initial: 20ms }"
    let first = try await bench.run(job(file, retry))
    #expect(first.status == 75, "\(first.errors)")
    try bench.writeJob(job(file, (way == "policy" ? "deadline: 1s, " : "") + retry))
    let run = try bench.start(bench.runArguments(way == "option" ? ["--deadline", "1s"] : []))
    if way == "signal" {
      for _ in 0..<3000 where !run.errors.contains("paused (retries)") {
        try await Task.sleep(for: .milliseconds(10))
      }
      run.signal(SIGTERM)
    }
    let end = try await run.wait()
    #expect(end.status == 75, "\(end.errors)")
    #expect(server.log().count == 1)
  }
}
