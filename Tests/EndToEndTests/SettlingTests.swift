import Foundation
import TestSupport
import Testing

/// What happens where something is there already: `if_exists`, adoption, `refresh`, `needs`, `enabled`.
@Suite(.turns)
struct SettlingTests {
  @Test func ifExistsOfDownloads() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.serve("a.bin", size: 150_000)
    for name in ["replace", "keep", "fail"] { try bench.source(name + ".bin", size: 10, seed: 9) }
    for name in ["adopt", "adopt-fail"] {
      try FileManager.default.copyItem(atPath: bench.served + "/a.bin", toPath: bench.job + "/\(name).bin")
    }
    let run = try await bench.run(
      """
      version: 1
      job: exists
      endpoints: { depot: \(depot.endpoint) }
      transfers:
        - { id: replace, download: "depot:a.bin", to: replace.bin }
        - { id: keep, download: "depot:a.bin", to: keep.bin, if_exists: keep }
        - { id: fail, download: "depot:a.bin", to: fail.bin, if_exists: fail }
        - { id: adopt, download: "depot:a.bin", to: adopt.bin }
        - { id: adopt-fail, download: "\(depot.url)/files/a.bin", to: adopt-fail.bin, if_exists: fail }
      """)
    #expect(run.status == 1)
    #expect(run.faults == "")
    #expect(run.state("replace") == "completed")
    #expect(run.state("keep") == "skipped exists")
    #expect(run.state("fail") == "failed DESTINATION_EXISTS")
    #expect(run.state("adopt") == "up_to_date adopted")
    #expect(run.state("adopt-fail") == "up_to_date adopted")
    #expect(run["adopt"]["bytes"]["reused"].int == 150_000)
    #expect(try bench.isSame("replace.bin", "a.bin"))
    for name in ["keep", "fail"] {
      #expect(try Data(contentsOf: URL(fileURLWithPath: bench.job + "/\(name).bin")).count == 10)
    }
    #expect(try await depot.log().moved == 150_000)
  }

  @Test func ifExistsOfUploads() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.source("new.bin", size: 150_000)
    for name in ["replace", "keep", "fail"] { try bench.serve("in/\(name).bin", size: 10, seed: 9) }
    try FileManager.default.copyItem(atPath: bench.job + "/new.bin", toPath: bench.served + "/in/adopt.bin")
    let run = try await bench.run(
      """
      version: 1
      job: exists
      endpoints: { depot: \(depot.endpoint) }
      transfers:
        - { id: replace, upload: new.bin, to: "depot:in/replace.bin" }
        - { id: keep, upload: new.bin, to: "depot:in/keep.bin", if_exists: keep }
        - { id: fail, upload: new.bin, to: "depot:in/fail.bin", if_exists: fail }
        - { id: adopt, upload: new.bin, to: "depot:in/adopt.bin", if_exists: fail }
      """)
    #expect(run.status == 1)
    #expect(run.faults == "")
    #expect(run.state("replace") == "completed")
    #expect(run.state("keep") == "skipped exists")
    #expect(run.state("fail") == "failed DESTINATION_EXISTS")
    #expect(run.state("adopt") == "up_to_date adopted")
    #expect(try await depot.log().moved == 150_000)
    #expect(try Sums.file(bench.served + "/in/replace.bin") == Sums.file(bench.job + "/new.bin"))
  }

  @Test func needsAndDisabled() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.serve("a.bin", size: 1000)
    let run = try await bench.run(
      """
      version: 1
      job: needs
      endpoints: { depot: \(depot.endpoint) }
      policies: { quick: { retry: { attempts: 1 } } }
      defaults: { policy: quick }
      transfers:
        - { id: after, download: "depot:a.bin", to: after.bin, needs: [first] }
        - { id: first, download: "depot:a.bin", to: first.bin }
        - { id: absent, download: "depot:none.bin", to: absent.bin }
        - { id: hopeless, download: "depot:a.bin", to: hopeless.bin, needs: ["abs*"] }
        - { id: third, download: "depot:a.bin", to: third.bin, needs: [hopeless] }
        - { id: off, download: "depot:a.bin", to: off.bin, enabled: false }
        - { id: needs-off, download: "depot:a.bin", to: needs-off.bin, needs: [off] }
        - { id: all-off, upload: "none/*", to: "depot:none/", enabled: false }
        - { id: needs-all-off, download: "depot:a.bin", to: needs-all-off.bin, needs: [all-off] }
      """)
    #expect(run.status == 1)
    #expect(run.faults == "")
    #expect(run.state("first") == "completed")
    #expect(run.state("after") == "completed")
    #expect((run["after"]["ended_at"].string ?? "") >= (run["first"]["ended_at"].string ?? "9"))
    #expect(run.state("absent") == "failed NOT_FOUND")
    for id in ["hopeless", "third", "needs-off", "needs-all-off"] {
      #expect(run[id]["state"].string == "skipped", "\(id)")
      #expect(run[id]["error"]["code"].string == "NEEDS_FAILED", "\(id)")
      #expect(run[id]["reason"].string?.hasPrefix("needs:") == true, "\(id)")
      #expect(!bench.exists(id + ".bin"))
    }
    #expect(run.state("off") == "skipped disabled")
  }

  /// A disabled transfer alone is no failure; a needed one that is paused holds the other back.
  @Test func disabledIsFineAndPausedHolds() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.serve("a.bin", size: 1000)
    let off = try await bench.run(
      """
      version: 1
      job: off
      endpoints: { depot: \(depot.endpoint) }
      transfers:
        - { id: off, download: "depot:a.bin", to: off.bin, enabled: false }
      """)
    #expect(off.status == 0)
    let held = try await bench.run(
      """
      version: 1
      job: held
      endpoints: { depot: \(depot.endpoint) }
      policies: { quick: { retry: { attempts: 1 } } }
      transfers:
        - { id: far, download: "http://127.0.0.1:1/a", to: far.bin, policy: quick }
        - { id: near, download: "depot:a.bin", to: near.bin, needs: [far] }
      """)
    #expect(held.status == 75)
    #expect(held.faults == "")
    #expect(held.state("near") == "queued needs:far")
  }

  /// What a fan-out's entries have reached is theirs again when it is enabled again.
  @Test func disabledFanOutKeepsItsEntries() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    for name in ["a", "b"] { try bench.source("in/" + name, size: 1000) }
    func run(_ more: String) async throws -> HaulRun {
      try await bench.run(
        """
        version: 1
        job: pause
        endpoints: { depot: \(depot.endpoint) }
        transfers:
          - { id: m, upload: "in/*", to: "depot:"\(more) }
        """)
    }
    #expect(try await run("").totals["completed"].int == 2)
    for _ in 1...2 {
      let off = try await run(", enabled: false")
      #expect(off.status == 0)
      #expect(["m", "m/a", "m/b"].map(off.state) == Array(repeating: "skipped disabled", count: 3))
      #expect(off.report["left_manifest"]["count"].int == 0)
    }
    let on = try await run("")
    #expect(["m/a", "m/b"].map(on.state) == ["up_to_date", "up_to_date"])
    #expect(on.report["left_manifest"]["count"].int == 0)
    #expect(on.transfers.count == 2)
  }

  @Test func refresh() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    for name in ["changed", "always", "never", "gone"] { try bench.serve(name + ".bin", size: 1000, seed: 1) }
    try bench.source("up.bin", size: 1000, seed: 1)
    let yaml = """
      version: 1
      job: refresh
      endpoints: { depot: \(depot.endpoint) }
      transfers:
        - { id: changed, download: "depot:changed.bin", to: changed.bin }
        - { id: always, download: "depot:always.bin", to: always.bin, refresh: always }
        - { id: never, download: "depot:never.bin", to: never.bin, refresh: never }
        - { id: gone, download: "depot:gone.bin", to: gone.bin }
        - { id: up, upload: up.bin, to: "depot:up.bin" }
      """
    #expect(try await bench.run(yaml).status == 0)
    for name in ["changed", "never"] { try bench.serve(name + ".bin", size: 1000, seed: 2) }
    try FileManager.default.removeItem(atPath: bench.job + "/gone.bin")
    try bench.source("up.bin", size: 1000, seed: 2)
    let second = try await bench.run()
    #expect(second.status == 0)
    #expect(second.faults == "")
    #expect(second.state("changed") == "completed")
    #expect(second.state("always") == "completed")
    #expect(second.state("never") == "up_to_date")
    #expect(second.state("gone") == "completed")
    #expect(second.state("up") == "completed")
    #expect(try bench.isSame("changed.bin", "changed.bin") && bench.isSame("up.bin", "up.bin"))
    #expect(try bench.isSame("gone.bin", "gone.bin"))
    // A destination that somebody changed, and a remote one that somebody removed.
    try bench.source("changed.bin", size: 999, seed: 3)
    try FileManager.default.removeItem(atPath: bench.served + "/up.bin")
    let third = try await bench.run()
    #expect(third.state("changed") == "completed")
    #expect(third.state("up") == "completed")
    #expect(try bench.isSame("changed.bin", "changed.bin") && bench.isSame("up.bin", "up.bin"))
  }

  /// A chain behind a failure is skipped to its end; one behind a file that was kept has its turn in the same run.
  @Test func needsChains() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.serve("a.bin", size: 1000)
    try Data("mine".utf8).write(to: URL(fileURLWithPath: bench.job + "/kept.bin"))
    func job(_ source: String) -> String {
      """
      version: 1
      job: chain
      endpoints: { depot: \(depot.endpoint) }
      transfers:
        - { id: r, download: "depot:\(source)", to: r.bin }
        - { id: l, download: "depot:a.bin", to: l.bin, needs: [m] }
        - { id: m, download: "depot:a.bin", to: m.bin, needs: [r] }
        - { id: k, download: "depot:a.bin", to: kept.bin, if_exists: keep }
        - { id: kk, download: "depot:a.bin", to: kk.bin, needs: [k] }

      """
    }
    let run = try await bench.run(job("missing.bin"))
    #expect(run.status == 1, "\(run.errors)")
    #expect(
      run.state("r").hasPrefix("failed") && run.state("m").hasPrefix("skipped needs:r")
        && run.state("l").hasPrefix("skipped needs:m")
    )
    #expect(run.state("k") == "skipped exists" && run.state("kk") == "completed")
    let mended = try await bench.run(job("a.bin"))
    #expect(mended.status == 0, "\(mended.errors)")
    #expect(mended.state("l") == "completed")
  }

  /// What the job itself put there is no stranger's, also once its transfer has another source; what somebody else changed is.
  @Test(arguments: ["keep", "fail"]) func anotherSourceOfOnesOwnFile(_ rule: String) async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    for (seed, name) in ["a", "b", "c"].enumerated() {
      try bench.serve(name + ".bin", size: 1000, seed: UInt64(seed + 1))
    }
    func run(_ source: String) async throws -> HaulRun {
      try await bench.run(
        """
        version: 1
        job: own
        endpoints: { depot: \(depot.endpoint) }
        transfers: [{ id: k, download: "depot:\(source).bin", to: k.bin, if_exists: \(rule) }]

        """)
    }
    #expect(try await run("a").state("k") == "completed")
    let other = try await run("b")
    #expect(other.state("k") == "completed", "\(other.errors)")
    #expect(try bench.isSame("k.bin", "b.bin"))
    try Data("mine".utf8).write(to: URL(fileURLWithPath: bench.job + "/k.bin"))
    let strange = try await run("c")
    #expect(strange.state("k") == (rule == "keep" ? "skipped exists" : "failed DESTINATION_EXISTS"))
    #expect(FileManager.default.contents(atPath: bench.job + "/k.bin") == Data("mine".utf8))
  }

  /// Nor is what others of its transfers put there: ids and destinations are exchanged, transfers leave and come back.
  @Test(arguments: ["keep", "fail"]) func filesOfOnesOtherTransfers(_ rule: String) async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    for (seed, name) in ["a", "b"].enumerated() {
      try bench.serve(name + ".bin", size: 1000, seed: UInt64(seed + 1))
    }
    // Ids, sources, destinations.
    let plans = [
      [("p", "a", "x"), ("q", "b", "y")], [("p", "a", "y"), ("q", "b", "x")],
      [("q", "a", "x"), ("p", "b", "y")], [("r", "a", "z")], [("r", "b", "z")],
      [("p", "b", "x"), ("q", "a", "y")],
    ]
    for plan in plans {
      let lines = plan.map { id, source, place in
        "  - { id: \(id), download: \"depot:\(source).bin\", to: \(place), if_exists: \(rule) }\n"
      }
      let head = "version: 1\njob: own\nendpoints: { depot: \(depot.endpoint) }\ntransfers:\n"
      let run = try await bench.run(head + lines.joined())
      for (id, source, place) in plan {
        #expect(run.state(id) == "completed", "\(plan): \(run.errors)")
        #expect(try bench.isSame(place, source + ".bin"))
      }
    }
  }

  /// Two spellings of one place, which the manifest's text can't show: the second never overwrites the first.
  @Test func twoTransfersOneFile() async throws {
    let bench = try Bench()
    // Slow enough for both to be under way at once.
    let depot = try await Depot(bench, faults: [#"{"match": {}, "action": {"rate": "512KiB"}}"#])
    try bench.serve("a.bin", size: 300_000, seed: 1)
    try bench.serve("b.bin", size: 299_000, seed: 2)
    let files = FileManager.default
    try files.createDirectory(atPath: bench.job + "/real", withIntermediateDirectories: true)
    try files.createSymbolicLink(atPath: bench.job + "/link", withDestinationPath: "real")
    // At once, then one after the other: either way the second is told whose file it is.
    func job(_ transfers: Int) -> String {
      """
      version: 1
      job: two
      endpoints: { depot: \(depot.endpoint) }
      policies: { p: { transfers: \(transfers) } }
      defaults: { policy: p }
      transfers:
        - { id: a, download: "depot:a.bin", to: real/f }
        - { id: b, download: "depot:b.bin", to: link/f }

      """
    }
    for attempt in 1...2 {
      let run = try await bench.run(job(3 - attempt))
      #expect(run.status == 1, "run \(attempt): \(run.errors)")
      let states = ["a", "b"].map { run.state($0).split(separator: " ").first.map(String.init) ?? "" }
      let whole = states[0] == "failed" ? "b" : "a"
      #expect(
        states.sorted() == [attempt == 1 ? "completed" : "failed", attempt == 1 ? "failed" : "up_to_date"])
      #expect(try bench.isSame("real/f", "\(whole).bin"))
    }
  }

  /// A name that the server chooses never replaces the manifest.
  @Test func theManifestIsNoDestination() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.serve("job.yaml", size: 500)
    let job = """
      version: 1
      job: own
      endpoints: { depot: \(depot.endpoint) }
      transfers:
        - { id: a, download: "depot:job.yaml", to: ./ }

      """
    let run = try await bench.run(job)
    #expect(run.status == 1 && run.state("a").hasPrefix("failed"), "\(run.errors)")
    #expect(run.transfers.first?["error"]["code"].string == "DESTINATION_EXISTS")
    #expect(try String(contentsOfFile: bench.job + "/job.yaml", encoding: .utf8) == job)
  }
}
