import Foundation
import TestSupport
import Testing

/// A nightly job in cron's environment, for ten nights: what it prints (so what cron mails), how it ends, and what it asks for.
@Suite(.turns)
struct TenNightsTests {
  /// What one night must have been.
  private struct Expected {
    var status: Int32 = 0
    /// What is printed, in this order; nothing at all where it is empty.
    var mail: [String] = []
    var totals: [String: Int64] = [:]
    /// `CODE count`, sorted.
    var causes: [String] = []
    /// The reason of each that has one, by id.
    var moved: [String: String] = [:]
    var left: [String] = []
    /// Requests that the hosts got: a, b, c.
    var requests: [Int]
  }

  /// A host of its own: `depot` over a folder, with a token where one is given.
  private final class Host {
    let bench: Bench
    let port: Int
    private var depot: Depot?
    private var seen = 0

    init() throws { (bench, port) = (try Bench(), try Loopback.freePort()) }

    var url: String { "http://127.0.0.1:\(port)/files" }

    func start(token: String? = nil, faults: [String] = []) async throws {
      await depot?.process.end()
      depot = try await Depot(
        bench, faults: faults, options: token == nil ? [] : ["--token-env", "TOKEN"],
        environment: token.map { ["TOKEN": $0] } ?? [:], port: port)
    }

    func put(_ name: String, _ text: String) throws { try bench.scratch.write("served/" + name, text) }

    /// Requests since the last time.
    func count() async throws -> Int {
      guard let depot else { return 0 }
      let all = try await depot.log().count
      defer { seen = all }
      return all - seen
    }
  }

  private let home: Bench
  private let (a, b, c): (Host, Host, Host)
  private static let dead = ["c0": "retried", "c1": "retried"]
  private static let unreachable = "(retries): NETWORK_UNREACHABLE: "

  init() throws {
    home = try Bench()
    (a, b, c) = (try Host(), try Host(), try Host())
  }

  private func rows(_ count: Int) throws {
    let lines = (0..<count).map { "\(a.url)/a\($0),a\($0)\n" }
    try home.scratch.write("job/rows.csv", "url,path\n" + lines.joined())
  }

  /// What the crontab's line runs, as cron runs it: by sh, with cron's three variables and what the line itself reads.
  private func start(_ more: String = "") throws -> Running {
    let line =
      ". ./environment; exec \(Programs.haul) run ../job/job.yaml --quiet --report report.json \(more)"
    return try Running(
      "/bin/sh", ["-c", line],
      environment: ["PATH": "/usr/bin:/bin", "HOME": home.scratch.path + "/home", "SHELL": "/bin/sh"],
      folder: home.scratch.folder("home"), scratch: home.scratch.path)
  }

  private var report: String { home.scratch.path + "/home/report.json" }

  private func night(_ number: Int, _ expected: Expected) async throws {
    try? FileManager.default.removeItem(atPath: report)
    try await judge(number, try await HaulRun(start().wait(), reportPath: report), expected)
  }

  private func judge(_ number: Int, _ run: HaulRun, _ expected: Expected) async throws {
    let told: Comment = "night \(number): \(run.errors)"
    #expect(run.status == expected.status && run.faults == "" && run.end.output == "", told)
    #expect(run.errors.isEmpty == expected.mail.isEmpty, told)
    var rest = run.errors[...]
    for line in expected.mail {
      let place = rest.range(of: line)
      #expect(place != nil, "night \(number), `\(line)` in: \(run.errors)")
      if let place { rest = rest[place.upperBound...] }
    }
    for (name, count) in expected.totals { #expect(run.totals[name].int == count, "\(name), \(told)") }
    // By code: what came before a host was given up, and what was not tried for that, have messages of their own.
    let counts = Dictionary(
      run.report["causes"].array.map { ($0["code"].string ?? "", $0["count"].int ?? 0) }, uniquingKeysWith: +)
    #expect(counts.map { "\($0.key) \($0.value)" }.sorted() == expected.causes, told)
    let moved = run.transfers.compactMap { one in
      one["moved_because"].string.map { (one["id"].string ?? "", $0) }
    }
    #expect(Dictionary(uniqueKeysWithValues: moved) == expected.moved, told)
    let left = run.report["left_manifest"]
    #expect(left["ids"].array.compactMap(\.string) == expected.left, told)
    #expect(left["count"].int ?? 0 == Int64(expected.left.count), told)
    let requests = try await [a.count(), b.count(), c.count()]
    #expect(requests == expected.requests, told)
  }

  /// Every file of the job that a host offers has that host's bytes.
  private func isSame(_ names: [String]) throws {
    for name in names {
      let host = name.hasPrefix("a") ? a : name.hasPrefix("b") ? b : c
      let mine = try Sums.file(home.job + "/in/" + name)
      #expect(try mine != nil && mine == Sums.file(host.bench.served + "/" + name), "\(name)")
    }
  }

  private func secrets(token: String, key: String?) throws {
    try home.scratch.write("home/token", token, mode: 0o600)
    try home.scratch.write(
      "home/environment", key.map { "export FEED_KEY=\($0)\n" } ?? "# nothing\n", mode: 0o600)
  }

  @Test func tenNights() async throws {
    for number in 0..<4 { try a.put("a\(number)", "alpha \(number), the first\n") }
    for number in 0..<2 { try b.put("b\(number)", "beta \(number)\n") }
    for number in 0..<2 { try c.put("c\(number)", "gamma \(number)\n") }
    try await a.start()
    try await b.start(token: "the-first-token")
    try secrets(token: "the-first-token", key: "feed-key-1")
    try rows(4)
    let listed = ["b0", "b1", "b2"].map { "  - { id: \($0), download: \"b:\($0)\", to: in/\($0) }" }
    let direct = ["c0", "c1"].map { "  - { id: \($0), download: \"\(c.url)/\($0)\", to: in/\($0) }" }
    try home.writeJob(
      """
      version: 1
      job: nightly
      policies: { p: { retry: { attempts: 2, initial: 10ms, max: 20ms } } }
      defaults: { policy: p }
      endpoints:
        b:
          type: http
          url: "\(b.url)"
          auth: { bearer: { file: "\(home.scratch.path)/home/token" } }
          headers: { X-Feed: { env: FEED_KEY } }
      transfers:
        - id: rows
          for_each: { csv: rows.csv, key: "${each.path}" }
          download: "${each.url}"
          to: "in/${each.path}"
      \((listed + direct).joined(separator: "\n"))
      """)

    // One host is dead, and one file is not there.
    let notFound = [
      "failed b2: NOT_FOUND: download: HTTP 404 (NOT_FOUND: nothing is served under this path) from \(b.url)/b2",
      "hint: check the path or id",
    ]
    var dead = ["NETWORK_UNREACHABLE 2"]
    try await night(
      1,
      Expected(
        status: 2,
        mail: [
          "nightly: failed; ", "(run 1, ", "9 transfers: 6 completed, 2 paused, 1 failed", "moved: 6 new",
        ] + notFound + [Self.unreachable],
        totals: ["completed": 6, "failed": 1, "paused": 2],
        causes: ["NETWORK_UNREACHABLE 2", "NOT_FOUND 1"],
        moved: Dictionary(
          uniqueKeysWithValues: ["rows/a0", "rows/a1", "rows/a2", "rows/a3", "b0", "b1", "b2", "c0", "c1"]
            .map { ($0, "new") }), requests: [4, 3, 0]))
    try isSame(["a0", "a1", "a2", "a3", "b0", "b1"])

    // Nothing is new: all are looked at, none is fetched again.
    try await night(
      2,
      Expected(
        status: 2, mail: ["9 transfers: 6 up to date, 2 paused, 1 failed", "0 B transferred"] + notFound,
        totals: ["up_to_date": 6, "failed": 1, "paused": 2],
        causes: ["NETWORK_UNREACHABLE 2", "NOT_FOUND 1"],
        moved: Self.dead.merging(["b2": "retried"]) { $1 }, requests: [4, 3, 0]))

    // A change upstream.
    try a.put("a1", "alpha 1, changed upstream\n")
    try await night(
      3,
      Expected(
        status: 2,
        mail: ["1 completed, 5 up to date, 2 paused, 1 failed", "moved: 1 source changed (rows/a1)"]
          + notFound, totals: ["completed": 1, "up_to_date": 5, "failed": 1, "paused": 2],
        causes: ["NETWORK_UNREACHABLE 2", "NOT_FOUND 1"],
        moved: Self.dead.merging(["b2": "retried", "rows/a1": "source_changed"]) { $1 },
        requests: [5, 3, 0]))
    try isSame(["a0", "a1", "a2", "a3"])

    // What was not there has come: only the dead host is left.
    try b.put("b2", "beta 2, there at last\n")
    try await night(
      4,
      Expected(
        status: 75,
        mail: [
          "nightly: incomplete; run the same command again", "1 completed, 6 up to date, 2 paused",
          "moved: 1 retried (b2)", Self.unreachable,
        ], totals: ["completed": 1, "up_to_date": 6, "failed": 0, "paused": 2], causes: dead,
        moved: Self.dead.merging(["b2": "retried"]) { $1 }, requests: [4, 3, 0]))
    try isSame(["b0", "b1", "b2"])

    // The dead host is back, and the csv has lost two rows.
    dead = []
    try await c.start()
    try rows(2)
    try await night(
      5,
      Expected(
        totals: ["transfers": 7, "completed": 2, "up_to_date": 5, "paused": 0, "failed": 0], moved: Self.dead,
        left: ["rows/a2", "rows/a3"], requests: [2, 3, 2]))
    try isSame(["a0", "a1", "a2", "a3", "b0", "b1", "b2", "c0", "c1"])

    // One destination was written to, and one was removed.
    try home.scratch.write("job/in/a0", "mine now\n")
    try FileManager.default.removeItem(atPath: home.job + "/in/c1")
    try await night(
      6,
      Expected(
        totals: ["completed": 2, "up_to_date": 5],
        moved: ["rows/a0": "destination_changed", "c1": "destination_changed"], requests: [3, 3, 2]))
    try isSame(["a0", "a1", "b0", "b1", "b2", "c0", "c1"])

    // The token has expired.
    try await b.start(token: "the-second-token")
    try await night(
      7,
      Expected(
        status: 1,
        mail: [
          "nightly: failed (run 7, ", "7 transfers: 4 up to date, 3 failed",
          "failed 3 transfers: UNAUTHORIZED: ",
          "HTTP 401", "b0, b1, b2", "hint: renew the credentials that `auth` refers to",
        ], totals: ["up_to_date": 4, "failed": 3], causes: ["UNAUTHORIZED 3"], requests: [2, 6, 2]))

    // The new one is in its file.
    try secrets(token: "the-second-token", key: "feed-key-1")
    try await night(8, Expected(totals: ["up_to_date": 7], requests: [2, 3, 2]))
    try isSame(["a0", "a1", "b0", "b1", "b2", "c0", "c1"])

    // A variable is not set: nobody is asked.
    try secrets(token: "the-second-token", key: nil)
    try await night(
      9,
      Expected(
        status: 66,
        mail: [
          "../job/job.yaml:10:26: error: the environment variable `FEED_KEY` is not set\n",
          "1 secret or file is not there: nothing was transferred", "hint: provide them where haul runs",
        ], requests: [0, 0, 0]))
    try isSame(["a0", "a1", "b0", "b1", "b2", "c0", "c1"])

    // The run takes long, and is started once more meanwhile.
    try secrets(token: "the-second-token", key: "feed-key-2")
    try a.put("a0", String(repeating: "alpha, grown. ", count: 100_000))
    try await a.start(faults: Depot.slow(150_000))
    try? FileManager.default.removeItem(atPath: report)
    let long = try start()
    while home.parts().isEmpty {
      try #require(long.isAlive, "\(long.errors)")
      try await Task.sleep(for: .milliseconds(10))
    }
    let second = try await HaulRun(start().wait(), reportPath: report)
    #expect(second.status == 76 && second.outcome == "refused" && second.faults == "", "\(second.errors)")
    #expect(
      second.end.output == "" && second.errors.contains("the job `nightly` is running already"),
      "\(second.errors)")
    let skipping = try await start("--if-running skip").wait()
    #expect(skipping.status == 0 && skipping.errors == "" && skipping.output == "", "\(skipping.errors)")
    #expect(long.isAlive)
    try await judge(
      10, try await HaulRun(long.wait(), reportPath: report),
      Expected(
        totals: ["completed": 1, "up_to_date": 6], moved: ["rows/a0": "source_changed"], requests: [3, 3, 2]))
    try isSame(["a0", "a1", "b0", "b1", "b2", "c0", "c1"])

    // Nights on which nothing was begun are no runs.
    let history = try await Running(
      Programs.haul, ["history", "nightly", "--json"], environment: ["HOME": home.scratch.path + "/home"],
      folder: home.job, scratch: home.scratch.path
    ).wait()
    let codes = try JSON.parse(history.output)["runs"].array.map { $0["exit_code"].int ?? -1 }
    #expect(codes == [0, 0, 1, 0, 0, 75, 2, 2, 2], "\(history.output) \(history.errors)")
  }
}
