import Foundation
import TestSupport
import Testing

/// What happens where something is there already: `if_exists`, adoption, `refresh`, `needs`, `enabled`.
@Suite(.turns, .timeLimit(.minutes(3)))
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
      """)
    #expect(run.status == 1)
    #expect(run.faults == "")
    #expect(run.state("first") == "completed")
    #expect(run.state("after") == "completed")
    #expect((run["after"]["started_at"].string ?? "") >= (run["first"]["ended_at"].string ?? "9"))
    #expect(run.state("absent") == "failed NOT_FOUND")
    for id in ["hopeless", "third", "needs-off"] {
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
}
