import Foundation
import TestSupport
import Testing

/// `on`: who is told of a run, whatever came of it.
@Suite(.turns)
struct NoticesTests {
  /// A job of one transfer with these notices, under a policy that tries again at once.
  private func job(
    _ on: String, _ transfer: String = "{ id: a, download: \"http://127.0.0.1:1/x\", to: x, enabled: false }"
  )
    -> String
  {
    """
    version: 1
    job: told
    policies: { quick: { retry: { attempts: 3, initial: 10ms, max: 10ms } } }
    defaults: { policy: quick }
    on:
    \(on.split(separator: "\n").map { "  " + $0 }.joined(separator: "\n"))
    transfers: [ \(transfer) ]
    """
  }

  /// Each event's ping, at a path of its own.
  private func pings(_ url: String) -> String {
    ["start", "success", "incomplete", "failure", "end"].map { "\($0): [ { ping: \"\(url)/\($0)\" } ]" }
      .joined(separator: "\n")
  }

  private func states(_ run: HaulRun) -> [String] {
    run.report["notices"].array.map { "\($0["on"].string ?? "") \($0["state"].string ?? "")" }
  }

  @Test func pingsAsDeadManServicesHaveThem() async throws {
    let bench = try Bench()
    let hooks = try await ReceivingServer.ofNotices(bench)
    let good = try await bench.run(job(pings(hooks.url)))
    #expect(good.status == 0 && good.faults == "", "\(good.faults)\(good.errors)")
    // Those of several receivers go out side by side.
    let sent = try hooks.requests().map(\.path)
    #expect(sent.first == "/start/start" && Set(sent.dropFirst()) == ["/success", "/end"] && sent.count == 3)
    #expect(states(good) == ["start delivered", "success delivered", "end delivered"])
    let missing = "{ id: a, download: \"\(hooks.url)/404\", to: x }"
    let bad = try await bench.run(job("failure: [ { ping: \"\(hooks.url)/p?k=1\" } ]", missing))
    #expect(bad.status == 1 && bad.faults == "", "\(bad.faults)\(bad.errors)")
    // A query stays behind the path.
    #expect(try hooks.requests().last?.path == "/p/1?k=1")
    let keys = try hooks.requests().map(\.key).filter { !$0.isEmpty }
    #expect(Set(keys).count == keys.count && keys.count == 4)
  }

  @Test func webhooksAndCommandsSayWhatHappened() async throws {
    let bench = try Bench()
    let hooks = try await ReceivingServer.ofNotices(bench)
    let on = """
      failure:
        - webhook:
            url: "\(hooks.url)/hook/capability"
            json: { text: "${job.name}: ${totals.failed} of ${totals.transfers}", code: "${run.exit_code}", list: [1, true, null] }
            headers: { X-Run: "${run.number}", X-Token: { env: HOOK_TOKEN } }
            sign: { env: HOOK_KEY }
        - { command: [sh, -c, "env > env.txt; cp \\"$HAUL_RUN_REPORT\\" seen.json; echo \\"$1\\" > argument.txt", sh, "${run.outcome}"] }
      """
    let missing = "{ id: a, download: \"\(hooks.url)/404\", to: x }"
    let run = try await bench.run(
      job(on, missing),
      environment: ["HOOK_TOKEN": "tokensecret", "HOOK_KEY": "keysecret", "OTHER": "othersecret"])
    #expect(run.status == 1 && run.faults == "", "\(run.faults)\(run.errors)")
    #expect(states(run) == ["failure delivered", "failure delivered"])
    let hook = try #require(try hooks.requests().first { $0.method == "POST" })
    #expect(hook.body == #"{"text":"told: 1 of 1","code":"1","list":[1,true,null]}"#)
    #expect(hook.headers["x-run"].string == "1" && hook.headers["x-token"].string == "tokensecret")
    #expect(hook.headers["content-type"].string == "application/json")
    let signed = try Sums.shell(
      "printf %s '\(hook.body)' | openssl dgst -sha256 -hmac keysecret -r | cut -c 1-64", in: bench.job)
    #expect(hook.headers["x-haul-signature"].string == String(signed.prefix(64)) && signed.count >= 64)
    let environment = try String(contentsOfFile: bench.job + "/env.txt", encoding: .utf8)
    for line in [
      "HAUL_RUN_OUTCOME=failed", "HAUL_RUN_EXIT_CODE=1", "HAUL_JOB_NAME=told", "HAUL_TOTALS_FAILED=1",
    ] {
      #expect(environment.contains(line + "\n"))
    }
    #expect(!environment.contains("secret"))
    #expect(try String(contentsOfFile: bench.job + "/argument.txt", encoding: .utf8) == "failed\n")
    // The report is there when its notices are sent, and later says what came of them.
    let seen = try JSON.parse(try String(contentsOfFile: bench.job + "/seen.json", encoding: .utf8))
    #expect(
      seen["notices"].array.allSatisfy { $0["state"].string == "owed" } && seen["notices"].array.count == 2)
    // Nothing keeps a secret, nor the path of a webhook in sight.
    let report = try String(contentsOfFile: bench.reportPath, encoding: .utf8)
    #expect(!(report + run.errors).contains("secret") && !(report + run.errors).contains("capability"))
    for name in ["plan.sqlite", "plan.sqlite-wal"] {
      let bytes = FileManager.default.contents(atPath: bench.state + "/told/" + name) ?? Data()
      for secret in ["tokensecret", "keysecret", "othersecret"] {
        #expect(bytes.range(of: Data(secret.utf8)) == nil, "\(name) holds \(secret)")
      }
    }
  }

  /// What did not arrive is owed, is told of, and comes with the next command under the same key.
  @Test func owedUntilItIsDelivered() async throws {
    let bench = try Bench()
    let hooks = try await ReceivingServer.ofNotices(bench)
    try hooks.answers(503)
    let run = try await bench.run(job("end: [ { webhook: { url: \"\(hooks.url)/a\" } } ]"))
    #expect(run.status == 0 && run.faults == "" && states(run) == ["end owed"], "\(run.errors)")
    #expect(run.report["notices"][0]["tries"].int == 3 && run.report["notices"][0]["error"].string != nil)
    #expect(
      run.errors.contains(
        "the notice `end` (webhook \(hooks.url)/***) is not delivered: the receiver answered HTTP 503"))
    try hooks.answers(nil)
    let status = try await bench.haul(["status", "told"])
    #expect(status.status == 0 && status.errors.isEmpty, "\(status.errors)")
    let sent = try hooks.requests()
    #expect(sent.count == 1 && sent.first?.body.contains("\"exit_code\":0") == true)
    let report = try JSON.parse(try await bench.haul(["report", "told", "--format", "json"]).output)
    #expect(report["notices"][0]["state"].string == "delivered" && report["notices"][0]["tries"].int == 4)
    _ = try await bench.haul(["history", "told"])
    #expect(try hooks.requests().count == 1)
  }

  @Test(arguments: [
    ("/404", "failed", "the receiver answered HTTP 404"), ("/500", "owed", "the receiver answered HTTP 500"),
    ("/close", "owed", "the connection broke"), ("/redirect", "failed", "the receiver answered HTTP 302"),
  ])
  func badReceiversChangeNothing(_ path: String, _ state: String, _ error: String) async throws {
    let bench = try Bench()
    let hooks = try await ReceivingServer.ofNotices(bench)
    let run = try await bench.run(job("success: [ { webhook: { url: \"\(hooks.url)\(path)\" } } ]"))
    #expect(run.status == 0 && run.faults == "" && states(run) == ["success " + state], "\(run.errors)")
    #expect(run.report["notices"][0]["error"].string?.contains(error) == true, "\(run.report["notices"])")
  }

  @Test func requestsKeepToThePolicy() async throws {
    let bench = try Bench()
    let hooks = try await ReceivingServer.ofNotices(bench)
    let on = "end: [ { ping: \"\(hooks.url)/a\" }, { ping: { env: PING } } ]"
    let yaml = job(on).replacing("quick: {", with: "quick: { network: { addresses: { deny: [loopback] } },")
    let run = try await bench.run(yaml, environment: ["PING": hooks.url + "/hidden"])
    #expect(run.status == 0 && states(run) == ["end failed", "end failed"], "\(run.errors)")
    #expect(try hooks.requests().isEmpty && !run.errors.contains("hidden"))
  }

  /// Runs that do not come to their first transfer are told of, too.
  @Test func earlyEndsAreTold() async throws {
    let bench = try Bench()
    let hooks = try await ReceivingServer.ofNotices(bench)
    let yaml = job(
      pings(hooks.url).replacing(
        "end: [", with: "end: [ { command: [sh, -c, \"echo $HAUL_RUN_OUTCOME >> ends\"] },"))
    func told(_ run: HaulRun, _ status: Int32) throws {
      #expect(run.status == status && run.faults == "", "\(run.faults)\(run.errors)")
      let told = states(run)
      #expect(told == ["failure delivered", "end delivered", "end delivered"], "\(run.report["notices"])")
      #expect(try Set(hooks.requests().suffix(2).map(\.path)) == ["/failure/\(status)", "/end/\(status)"])
    }
    try told(try await bench.run(yaml + "\nnonsense: 1"), 65)
    #expect(!FileManager.default.fileExists(atPath: bench.state + "/told"))
    let locked = yaml.replacing("enabled: false }", with: "headers: { X-A: { env: NO_SUCH } } }")
    try told(try await bench.run(locked), 66)
    let port = try await bench.blackHole("127.0.0.1")
    try bench.writeJob(
      yaml.replacing("127.0.0.1:1/x\", to: x, enabled: false", with: "127.0.0.1:\(port)/x\", to: x"))
    let first = try bench.start(["run", "job.yaml"])
    while !first.errors.contains("started") {
      try #require(first.isAlive)
      try await Task.sleep(for: .milliseconds(20))
    }
    try told(try await bench.run(), 76)
    let sent = try hooks.requests().count
    let skipped = try await bench.run(nil, ["--if-running", "skip"])
    // Whether that run goes well is for that run to say: a ping would be taken for its success.
    #expect(skipped.status == 0 && states(skipped) == ["end delivered"], "\(skipped.errors)")
    #expect(try hooks.requests().count == sent)
    let outcomes = try String(contentsOfFile: bench.job + "/ends", encoding: .utf8)
    #expect(outcomes.hasSuffix("refused\nrefused\n"), "\(outcomes)")
    first.signal(SIGTERM)
    #expect(try await first.wait().status == 75)
    #expect(try Set(hooks.requests().suffix(2).map(\.path)) == ["/incomplete/75", "/end/75"])
    try Data("no database, and long enough to be taken for one".utf8).write(
      to: URL(fileURLWithPath: bench.state + "/told/plan.sqlite"))
    let damaged = try await bench.haul(["run", "job.yaml"])
    #expect(damaged.status == 73, "\(damaged.errors)")
    #expect(try Set(hooks.requests().suffix(2).map(\.path)) == ["/failure/73", "/end/73"])
  }

  /// Where no state keeps a notice, nobody is promised another try.
  @Test func whatNoStateKeepsHasFailed() async throws {
    let bench = try Bench()
    let hooks = try await ReceivingServer.ofNotices(bench)
    try hooks.answers(503)
    let yaml = job("failure: [ { webhook: { url: \"\(hooks.url)/a\" } } ]")
    let new = try await bench.run(yaml + "\nnonsense: 1")
    #expect(new.status == 65 && states(new) == ["failure failed"], "\(new.report["notices"])\(new.errors)")
    #expect(new.errors.contains("is not delivered") && !new.errors.contains("next command"), "\(new.errors)")
    #expect(try await bench.run(yaml).status == 0)
    let known = try await bench.run(yaml + "\nnonsense: 1")
    #expect(known.status == 65 && states(known) == ["failure owed"], "\(known.report["notices"])")
    #expect(known.errors.contains("the next command for the job sends it again"), "\(known.errors)")
  }

  /// What may hide the policy lets no request go where it may not; commands go.
  @Test(arguments: [
    "imports: [none.yaml]", "policies: { quick: { network: { addresses: { denied: [loopback] } } } }",
    "defualts: { policy: { network: { addresses: { deny: [loopback] } } } }",
    "defaults: { policy: quik }",
  ])
  func noRequestGoesWithoutItsPolicy(_ faulty: String) async throws {
    let bench = try Bench()
    let hooks = try await ReceivingServer.ofNotices(bench)
    let run = try await bench.run(
      """
      version: 1
      job: told
      \(faulty)
      on: { end: [ { ping: "\(hooks.url)/a" }, { webhook: { url: "\(hooks.url)/b" } }, { command: [touch, ran] } ] }
      transfers: [ { id: a, download: "http://127.0.0.1:1/x", to: x, enabled: false } ]
      """)
    #expect([65, 66].contains(run.status) && run.faults == "", "\(run.faults)\(run.errors)")
    #expect(states(run) == ["end failed", "end failed", "end delivered"], "\(run.report["notices"])")
    #expect(run.errors.contains("can't be read from the manifest"), "\(run.errors)")
    #expect(try hooks.requests().isEmpty && FileManager.default.fileExists(atPath: bench.job + "/ran"))
  }

  /// The head of an answer is the answer; a receiver that never comes to one has its time.
  @Test(arguments: [("/trickle", "delivered", 0), ("/heads", "owed", 9)])
  func aReceiverCannotHoldARun(_ path: String, _ state: String, _ seconds: Int) async throws {
    let bench = try Bench()
    let hooks = try await ReceivingServer.ofNotices(bench)
    let begun = ContinuousClock.now
    let run = try await bench.run(
      job("end: [ { webhook: { url: \"\(hooks.url)\(path)\" } } ]").replacing(
        "attempts: 3", with: "attempts: 1"))
    #expect(run.status == 0 && states(run) == ["end \(state)"], "\(run.errors)")
    #expect((ContinuousClock.now - begun).components.seconds >= seconds)
  }

  /// What is owed to a receiver goes first, also where the next run never begins, and is said in a line.
  @Test func receiversKeepTheirOrder() async throws {
    let bench = try Bench()
    let hooks = try await ReceivingServer.ofNotices(bench)
    try hooks.answers(503)
    let ping = "[ { ping: \"\(hooks.url)/a\" } ]"
    let yaml = job("start: \(ping)\nend: \(ping)")
    let run = try await bench.run(yaml)
    #expect(run.status == 0 && states(run) == ["start owed", "end owed"], "\(run.errors)")
    #expect(run.report["notices"][1]["tries"].int == 0)
    #expect(run.errors.contains("2 notices (ping"), "\(run.errors)")
    try hooks.answers(nil)
    let early = try await bench.run(yaml + "\nnonsense: 1")
    #expect(early.status == 65 && states(early) == ["end delivered"], "\(early.errors)")
    #expect(try hooks.requests().map(\.path) == ["/a/start", "/a", "/a/65"])
  }

  /// A secret that only an older manifest names may never be there: what comes later does not wait for it.
  @Test func aMissingSecretHoldsUpNoOther() async throws {
    let bench = try Bench()
    let hooks = try await ReceivingServer.ofNotices(bench)
    func signed(by name: String) -> String {
      job("end: [ { webhook: { url: \"\(hooks.url)/a\", sign: { env: \(name) } } } ]")
    }
    let misspelled = try await bench.run(signed(by: "NOTICE_KEX"))
    #expect(misspelled.status == 0 && states(misspelled) == ["end owed"], "\(misspelled.errors)")
    let mended = try await bench.run(signed(by: "NOTICE_KEY"), environment: ["NOTICE_KEY": "k-e-y"])
    #expect(mended.status == 0 && states(mended) == ["end delivered"], "\(mended.errors)")
    #expect(try hooks.requests().count == 1)
  }

  /// What a command runs ends at signals and broken pipes, as it would in a shell.
  @Test func commandsIgnoreNoSignal() async throws {
    let bench = try Bench()
    let run = try await bench.run(
      job("end: [ { command: [sh, -c, \"grep -E '^Sig(Ign|Blk)' /proc/self/status > signals\"] } ]"))
    #expect(run.status == 0 && states(run) == ["end delivered"], "\(run.errors)")
    let lines = try String(contentsOfFile: bench.job + "/signals", encoding: .utf8).split(separator: "\n")
    for line in lines {
      let mask = try #require(UInt64(line.split(whereSeparator: \.isWhitespace)[1], radix: 16))
      for signal in [SIGINT, SIGPIPE, SIGTERM] { #expect(mask & (1 << UInt64(signal - 1)) == 0, "\(line)") }
    }
    #expect(lines.count == 2)
  }

  /// A run that ends with 73, as its report has no place any more, is no success to anyone.
  @Test func noSuccessWithoutItsReport() async throws {
    let bench = try Bench()
    let hooks = try await ReceivingServer.ofNotices(bench)
    let folder = bench.job + "/reports"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let server = try await PythonServer(bench)
    try bench.serve("a.bin", size: 2_000_000)
    try bench.writeJob(
      job(
        pings(hooks.url).replacing("start: [", with: "start: [ { command: [rmdir, \"\(folder)\"] },"),
        "{ id: a, download: \"\(server.url)/a.bin\", to: a.bin, policy: { bandwidth: 1MB/s } }"))
    let run = try await bench.haul(["run", "job.yaml", "--report", folder + "/r.json"])
    #expect(run.status == 73, "\(run.errors)")
    let paths = try Set(hooks.requests().map(\.path))
    #expect(paths == ["/start/start", "/failure/73", "/end/73"], "\(paths)")
  }

  /// A receiver that never answers costs a signalled run no more than it has.
  @Test func aSignalDoesNotWaitForReceivers() async throws {
    let bench = try Bench()
    let hooks = try await ReceivingServer.ofNotices(bench)
    let port = try await bench.blackHole("127.0.0.1")
    let on = "start: [ { ping: \"\(hooks.url)/hang\" } ]\nend: [ { command: [sleep, \"50\"] } ]"
    try bench.writeJob(job(on, "{ id: a, download: \"http://127.0.0.1:\(port)/x\", to: x }"))
    let run = try bench.start(["run", "job.yaml", "--report", bench.reportPath])
    while try hooks.requests().isEmpty {
      try #require(run.isAlive)
      try await Task.sleep(for: .milliseconds(20))
    }
    let begun = ContinuousClock.now
    run.signal(SIGTERM)
    let end = try await run.wait(.seconds(10))
    #expect(ContinuousClock.now - begun < .seconds(5))
    let ended = try await HaulRun(end, reportPath: bench.reportPath)
    #expect(ended.status == 75, "\(ended.errors)")
    #expect(states(ended) == ["start owed", "end owed"])
  }

  private static let environment = ProcessInfo.processInfo.environment
  private static let kills = environment["HAUL_NOTICE_KILLS"].flatMap { Int($0) } ?? 15
  private static let seed = environment["HAUL_TORTURE_SEED"].flatMap { UInt64($0) } ?? 7

  /// Whenever haul is killed, and whatever the receivers answer: each event on record arrives, under one key, and none is
  /// missing. `HAUL_NOTICE_KILLS`: SIGKILLs (15). `HAUL_TORTURE_SEED`: what their instants follow from.
  @Test(arguments: ["slow", "moody"])
  func killedAtAnyInstant(_ receiver: String) async throws {
    let bench = try Bench()
    let hooks = try await ReceivingServer.ofNotices(bench)
    try bench.serve("a.bin", size: 200_000)
    let server = try await PythonServer(bench)
    let transfer = "{ id: a, download: \"\(server.url)/a.bin\", to: a.bin, refresh: always }"
    // Slow ones are met by kills on their way; moody ones fail, hang and close before they answer.
    let yaml = job(pings(hooks.url + "/" + receiver), transfer)
    try bench.writeJob(yaml.replacing("quick: {", with: "quick: { timeouts: { request: 500ms },"))
    var random = SeededRandom(Self.seed)
    for _ in 0..<Self.kills {
      let run = try bench.start(["run", "job.yaml", "--no-progress"])
      try await Task.sleep(for: .milliseconds(Int.random(in: 20..<900, using: &random)))
      run.signal(SIGKILL)
      _ = try? await run.wait()
    }
    let last = try await bench.haul(["run", "job.yaml"])
    #expect(last.status == 0, "\(last.errors)")
    // What is still owed goes with the next commands.
    for _ in 0..<10 + Self.kills / 4 {
      let state = try await bench.haul(["status", "told"])
      if !state.errors.contains("not delivered") { break }
    }
    let requests = try hooks.requests()
    let (keys, answered) = (Set(requests.map(\.key)), Set(requests.filter { $0.status == 200 }.map(\.key)))
    let state = try await bench.haul(["history", "told", "--json"])
    let runs = try JSON.parse(state.output)["runs"].array
    var wanted: Set<String> = []
    for run in runs {
      let id = try #require(run["id"].string)
      let attempts = run["attempts"].array
      for attempt in attempts {
        let number = try #require(attempt["number"].int)
        wanted.insert("\(id)-\(number)-start-1")
        // An attempt that was killed has no end of its own.
        guard attempt["exit_code"].int == 0 else { continue }
        wanted.formUnion(["\(id)-\(number)-success-1", "\(id)-\(number)-end-1"])
      }
    }
    #expect(keys == wanted, "missing \(wanted.subtracting(keys)), unknown \(keys.subtracting(wanted))")
    #expect(answered == wanted, "never answered with 200: \(wanted.subtracting(answered))")
    #expect(wanted.count > 3)
    print(
      "\(receiver): \(Self.kills) kills, \(runs.count) runs, \(wanted.count) events, \(requests.count) requests"
    )
  }

  /// A state that can't be written any more tells nobody of a success.
  @Test(.enabled(if: Mount.isAllowed))
  func aFullDiskIsTold() async throws {
    let bench = try Bench()
    let hooks = try await ReceivingServer.ofNotices(bench)
    let disk = try Mount.small(3 << 20, at: bench.state)
    defer { withExtendedLifetime(disk) {} }
    let yaml = job(pings(hooks.url))
    #expect(try await bench.run(yaml).status == 0)
    let sent = try hooks.requests().count
    _ = try? Sums.shell("head -c 8000000 /dev/zero > filler", in: bench.state)
    let full = try await bench.haul(["run", "job.yaml"])
    #expect(full.status == 73, "\(full.errors)")
    let told = try hooks.requests().dropFirst(sent).map(\.path)
    #expect(Set(told) == ["/failure/73", "/end/73"] && told.count == 2, "\(told) \(full.errors)")
    try FileManager.default.removeItem(atPath: bench.state + "/filler")
    let after = try await bench.run()
    #expect(after.status == 0 && states(after) == ["start delivered", "success delivered", "end delivered"])
    let keys = try hooks.requests().map(\.key)
    #expect(Set(keys).count == keys.count, "\(keys)")
  }
}
