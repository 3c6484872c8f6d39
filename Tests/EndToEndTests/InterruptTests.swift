import Foundation
import TestSupport
import Testing

/// A run that is stopped, by a wish or by force, goes on where it was.
@Suite(.turns)
struct InterruptTests {
  private static let size = 8 << 20
  private static let chunk = 256 << 10

  private func job(_ depot: Depot) -> String {
    """
    version: 1
    job: slow
    endpoints: { depot: \(depot.endpoint) }
    defaults: { chunk_size: 256KiB }
    transfers:
      - { id: down, download: "depot:a.bin", to: a.bin }
      - { id: up, upload: up.bin, to: "depot:in/up.bin" }
      - { id: web, download: "\(depot.url)/files/b.bin", to: web.bin }

    """
  }

  private func slowBench() async throws -> (Bench, Depot) {
    let bench = try Bench()
    // Four connections bring a file in 16 s: a test that looks late on a busy machine still finds it under way.
    let depot = try await Depot(bench, faults: Depot.slow(128 << 10))
    try bench.serve("a.bin", size: Self.size, seed: 4)
    try bench.serve("b.bin", size: Self.size, seed: 8)
    try bench.source("up.bin", size: Self.size, seed: 5)
    return (bench, depot)
  }

  /// A reader that reads nothing, or is not there, holds no run up that is to end.
  @Test(arguments: [true, false]) func whatNobodyReads(_ isOpen: Bool) async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.serve("a.bin", size: 10)
    try bench.writeJob(
      """
      version: 1
      job: unread
      endpoints: { depot: \(depot.endpoint) }
      transfers:
        - { id: many, for_each: { csv: rows.csv }, download: "depot:a.bin", to: "out/${each.k}" }

      """)
    try bench.writeJob("k\n" + (1...4000).map { "\($0)\n" }.joined(), as: "rows.csv")
    let pipe = bench.scratch.path + "/pipe"
    #expect(mkfifo(pipe, 0o600) == 0)
    let reader = isOpen ? open(pipe, O_RDWR | O_CLOEXEC) : -1
    defer { if isOpen { close(reader) } }
    let running = try bench.start(bench.runArguments(["--events", pipe]))
    // Events of some hundred files fill the pipe, and what waits behind it.
    while isOpen, !bench.exists("out/300"), running.isAlive { try await Task.sleep(for: .milliseconds(20)) }
    while !running.listensToSignals, running.isAlive { try await Task.sleep(for: .milliseconds(20)) }
    try await Task.sleep(for: .seconds(2))
    running.signal(SIGTERM)
    let end = try await running.wait(.seconds(60))
    #expect(end.status == 75, "\(end.errors)")
    #expect(FileManager.default.fileExists(atPath: bench.reportPath))
  }

  @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
  func signal(_ number: Int32) async throws {
    let (bench, depot) = try await slowBench()
    try bench.writeJob(job(depot))
    let events = bench.scratch.path + "/events.jsonl"
    let running = try bench.start(bench.runArguments(["--events", events]))
    try await Midway.chunks(4, of: ["down", "up", "web"], in: events, running)
    // At this rate the files would come whole long before the wait gives up: what is paused was stopped at once.
    running.signal(number)
    let end = try await running.wait()
    let first = try await HaulRun(end, reportPath: bench.reportPath)
    #expect(first.status == 75, "\(first.errors)")
    #expect(first.faults == "")
    #expect(first.outcome == "incomplete")
    for id in ["down", "up", "web"] { #expect(first.state(id) == "paused interrupted") }
    #expect(!bench.exists("a.bin"))

    // What was under way is logged when depot notices the end: it reads what has arrived of a chunk in 2 s.
    try await Task.sleep(for: .seconds(6))
    let before = try await depot.log().count
    let second = try await bench.run(nil, ["--events", events])
    #expect(second.status == 0, "\(second.errors)")
    #expect(second.faults == "")
    #expect(second.report["run"]["attempt"].int == 2)
    #expect(second.report["run"]["number"].int == 1)
    #expect(second.report["run"]["attempts"].array.map { $0["exit_code"].int } == [75, 0])
    #expect(try bench.isSame("a.bin", "a.bin") && bench.isSame("web.bin", "b.bin"))
    #expect(try Sums.file(bench.served + "/in/up.bin") == Sums.file(bench.job + "/up.bin"))

    // What was recorded in the first attempt is not asked for, or sent, in the second.
    let lines = JSON.lines(events)
    #expect(try await Schema.faults(of: events, name: "event", isLines: true) == "")
    #expect(lines.map { $0["seq"].int } == (1...Int64(lines.count)).map { $0 })
    var recorded: [String: Set<Int64>] = [:]
    // Partial chunks are kept too, but of these only what is missing may be asked for.
    for line in lines
    where line["event"].string == "chunk_completed" && line["attempt"].int == 1
      && line["bytes"].int == Int64(Self.chunk)
    {
      recorded[line["id"].string ?? "", default: []].insert(line["chunk"].int ?? -1)
    }
    let later = Array(try await depot.log().dropFirst(before))
    let resent = later.chunks.compactMap(\.offset).map { $0 / Int64(Self.chunk) }
    #expect(Set(resent).isDisjoint(with: recorded["up"] ?? []))
    #expect(resent.count == Set(resent).count)
    for (id, path) in ["down": "/files/a.bin", "web": "/files/b.bin"] {
      let asked = later.downloads.filter { $0.path == path && $0.status == 206 }
      // Nobody's log knows when an answer was cut, so it is what was asked for that must miss the recorded chunks.
      for visit in asked {
        guard let first = visit.offset, let last = visit.lastOffset else { continue }
        let chunks = Set(first / Int64(Self.chunk)...last / Int64(Self.chunk))
        #expect(chunks.isDisjoint(with: recorded[id] ?? []), "\(id): \(visit.line)")
      }
      #expect(asked.reduce(0) { $0 + $1.sent } <= Int64(Self.size - (recorded[id]?.count ?? 0) * Self.chunk))
    }
    for id in ["down", "up", "web"] {
      #expect((second[id]["chunks"]["reused"].int ?? 0) >= Int64(recorded[id]?.count ?? 1))
    }
  }

  /// timeout(1) signals the program and then its group.
  @Test func signalsOfOneMomentAreOne() async throws {
    let (bench, depot) = try await slowBench()
    try bench.writeJob(job(depot))
    let events = bench.scratch.path + "/events.jsonl"
    let running = try bench.start(bench.runArguments(["--events", events]))
    try await Midway.chunks(1, of: ["down"], in: events, running)
    for number in [SIGTERM, SIGTERM, SIGINT, SIGHUP] { running.signal(number) }
    let run = try await HaulRun(try await running.wait(), reportPath: bench.reportPath)
    #expect(run.status == 75 && run.faults == "", "\(run.errors)")
    #expect(run.errors.contains("3 paused"), "\(run.errors)")
    let again = try await bench.run()
    #expect(again.status == 0, "\(again.errors)")
    #expect(try bench.isSame("a.bin", "a.bin"))
  }

  /// A secret's command, or a mount, that hangs.
  private func hanging() throws -> Bench {
    let bench = try Bench()
    let marker = bench.scratch.path + "/asked"
    try bench.writeJob(
      """
      version: 1
      job: hangs
      endpoints:
        web:
          type: http
          url: "http://127.0.0.1:1"
          auth: { bearer: { command: [sh, -c, "touch \(marker); sleep 120"] } }
      transfers: [{ id: a, download: "web:a.bin", to: a.bin }]
      """)
    return bench
  }

  private func asked(_ bench: Bench, _ running: Running) async throws {
    while !FileManager.default.fileExists(atPath: bench.scratch.path + "/asked") {
      try #require(running.isAlive, "\(running.errors)")
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  @Test func aCommandThatHangsHoldsNothingUp() async throws {
    let bench = try hanging()
    let running = try bench.start(bench.runArguments())
    try await asked(bench, running)
    running.signal(SIGTERM)
    let run = try await HaulRun(try await running.wait(), reportPath: bench.reportPath)
    #expect(run.status == 75 && run.faults == "", "\(run.errors)")
    #expect(run.state("a") == "paused interrupted")
  }

  @Test(arguments: ["SIGTERM", "--deadline"]) func whileTheJobIsListed(_ cause: String) async throws {
    let bench = try Bench()
    let port = try await bench.blackHole("127.0.0.1")
    try bench.writeJob(
      """
      version: 1
      job: lists
      endpoints:
        s3: { type: s3, url: "http://127.0.0.1:\(port)", bucket: b,
              auth: { aws: { access_key_id: A, secret_access_key: { env: KEY } } } }
      policies: { p: { timeouts: { connect: 60s } } }
      defaults: { policy: p }
      transfers: [{ id: all, download: "s3:in/", to: in/ }]
      """)
    let running = try bench.start(
      bench.runArguments(cause == "SIGTERM" ? [] : [cause, "1s"]), environment: ["KEY": "k"])
    let ledger = bench.state + "/lists/plan.sqlite"
    while !FileManager.default.fileExists(atPath: ledger) {
      try #require(running.isAlive, "\(running.errors)")
      try await Task.sleep(for: .milliseconds(20))
    }
    if cause == "SIGTERM" { running.signal(SIGTERM) }
    let run = try await HaulRun(try await running.wait(), reportPath: bench.reportPath)
    #expect(run.status == 75 && run.faults == "", "\(run.errors)")
    #expect(run.outcome == "incomplete" && run.errors.contains("\(cause)"), "\(run.errors)")
    // There is no plan yet, and the manifest is where it was.
    let pause = try await bench.haul(["pause", "lists"])
    #expect(pause.status == 66 && pause.errors.contains("has not been planned yet"), "\(pause.errors)")
    let status = try await bench.haul(["status", "lists", "--json"])
    #expect(try JSON.parse(status.output)["job"]["state"].string == "queued", "\(status.output)")
    let gc = try await bench.haul(["gc", "lists"])
    #expect(gc.status == 0 && !gc.errors.contains("can't be read"), "\(gc.errors)")
  }

  /// A manifest that nobody writes: the run waits for its first byte.
  @Test func whileTheManifestIsRead() async throws {
    let bench = try Bench()
    let manifest = bench.job + "/job.yaml"
    #expect(mkfifo(manifest, 0o600) == 0)
    let running = try bench.start(bench.runArguments())
    var writer: Int32 = -1
    while writer < 0 {
      try #require(running.isAlive, "\(running.errors)")
      try await Task.sleep(for: .milliseconds(20))
      // Fails while nobody reads.
      writer = open(manifest, O_WRONLY | O_NONBLOCK)
    }
    defer { close(writer) }
    running.signal(SIGTERM)
    let run = try await HaulRun(try await running.wait(), reportPath: bench.reportPath)
    #expect(run.status == 75 && run.faults == "", "\(run.errors)")
    #expect(run.outcome == "incomplete" && run.errors.contains("SIGTERM"), "\(run.errors)")
  }

  @Test func whileItWaitsForTheLock() async throws {
    let bench = try hanging()
    let first = try bench.start(["run", "job.yaml"])
    try await asked(bench, first)
    let running = try bench.start(bench.runArguments(["--if-running", "wait"]))
    while !running.errors.contains("waiting for its end") {
      try #require(running.isAlive, "\(running.errors)")
      try await Task.sleep(for: .milliseconds(20))
    }
    running.signal(SIGINT)
    let run = try await HaulRun(try await running.wait(), reportPath: bench.reportPath)
    #expect(run.status == 75 && run.faults == "", "\(run.errors)")
    #expect(run.errors.contains("SIGINT"), "\(run.errors)")
    #expect(first.isAlive)
  }

  /// Between main's beginning and the moment when the run listens: a few hundredths of a second.
  @Test func beforeTheRunListens() async throws {
    let bench = try hanging()
    for _ in 0..<5 {
      let running = try bench.start(bench.runArguments())
      while !running.catchesSignals, running.isAlive { await Task.yield() }
      running.signal(SIGTERM)
      let run = try await HaulRun(try await running.wait(), reportPath: bench.reportPath)
      #expect(run.status == 75 && run.faults == "", "\(run.errors)")
      #expect(run.outcome == "incomplete", "\(run.errors)")
      try FileManager.default.removeItem(atPath: bench.reportPath)
    }
  }

  /// nohup(1) starts programs with SIGHUP ignored.
  @Test func nohupOutlivesItsTerminal() async throws {
    let bench = try hanging()
    let running = try Running(
      "/usr/bin/env",
      ["--ignore-signal=HUP", Programs.haul, "run", "job.yaml", "--state-dir", bench.state],
      environment: bench.environment(), folder: bench.job, scratch: bench.scratch.path)
    try await asked(bench, running)
    running.signal(SIGHUP)
    try await Task.sleep(for: .milliseconds(500))
    #expect(running.isAlive)
    running.signal(SIGTERM)
    #expect(try await running.wait().status == 75)
  }
}
