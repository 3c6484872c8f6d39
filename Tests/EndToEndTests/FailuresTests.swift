import Foundation
import TestSupport
import Testing

/// Each way to fail has its own code and hint, and harms nobody else.
@Suite(.turns)
struct FailuresTests {
  private static let quick = "policies: { quick: { retry: { attempts: 2, initial: 10ms, max: 20ms } } }"

  @Test func wrongDigest() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.serve("a.bin", size: 3_000_000)
    try bench.serve("b.bin", size: 1000)
    let wrong = String(repeating: "ab", count: 32)
    let run = try await bench.run(
      """
      version: 1
      job: digest
      endpoints: { depot: \(depot.endpoint) }
      defaults: { chunk_size: 1MiB }
      transfers:
        - { id: bad, download: "depot:a.bin", to: out/bad.bin, expect: { sha256: \(wrong) } }
        - { id: web, download: "\(depot.url)/files/a.bin", to: out/web.bin, expect: { sha256: \(wrong) } }
        - { id: good, download: "depot:b.bin", to: out/good.bin }
      """)
    #expect(run.status == 1)
    #expect(run.faults == "")
    #expect(run.outcome == "failed")
    let actual = try Sums.file(bench.served + "/a.bin")
    for id in ["bad", "web"] {
      #expect(run.state(id) == "failed INTEGRITY_MISMATCH")
      #expect(run[id]["error"]["expected"].string == wrong)
      #expect(run[id]["error"]["actual"].string == actual)
      #expect(!bench.exists("out/\(id).bin"))
    }
    #expect(bench.parts().isEmpty)
    #expect(run.state("good") == "completed")
    #expect(try bench.isSame("out/good.bin", "b.bin"))
  }

  @Test func everyCodeInOneRun() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench, options: ["--token-env", "TOKEN"], environment: ["TOKEN": "right"])
    let quirks = try await QuirkServer(bench)
    try bench.serve("a.bin", size: 200_000)
    try bench.source("here.bin", size: 1000)
    let run = try await bench.run(
      """
      version: 1
      job: failures
      \(Self.quick)
      endpoints:
        good: { type: session, url: "\(depot.url)", auth: { bearer: { env: GOOD } } }
        bad: { type: session, url: "\(depot.url)", auth: { bearer: { env: BAD } } }
        unset: { type: session, url: "\(depot.url)", auth: { bearer: { command: ["false"] } } }
      defaults: { policy: quick }
      transfers:
        - { id: missing, upload: "gone.bin", to: "good:gone.bin" }
        - { id: absent, download: "good:no/such.bin", to: absent.bin }
        - { id: absent-web, download: "\(quirks.url)/plain/none", to: absent-web.bin }
        - { id: refused, download: "bad:a.bin", to: refused.bin }
        - { id: refused-up, upload: here.bin, to: "bad:in.bin" }
        - { id: forbidden, download: "\(quirks.url)/status/403/a.bin", to: forbidden.bin }
        - { id: forbidden-up, upload: here.bin, to: "\(quirks.url)/plain/put.bin" }
        - { id: broken, download: "\(quirks.url)/status/500/a.bin", to: broken.bin }
        - { id: far, download: "http://127.0.0.1:1/a.bin", to: far.bin }
        - { id: nowhere, download: "http://no-such-host.invalid/a.bin", to: nowhere.bin }
        - { id: secretless, download: "unset:a.bin", to: secretless.bin }
        - { id: blocked, download: "good:a.bin", to: here.bin/below.bin }
        - { id: down, download: "good:a.bin", to: down.bin }
        - { id: up, upload: here.bin, to: "good:in/here.bin" }
      """, environment: ["GOOD": "right", "BAD": "wrong"])
    #expect(run.status == 2)
    #expect(run.faults == "")
    #expect(run.outcome == "failed")
    let expected = [
      "missing": "failed SOURCE_MISSING", "absent": "failed NOT_FOUND", "absent-web": "failed NOT_FOUND",
      "refused": "failed UNAUTHORIZED", "refused-up": "failed UNAUTHORIZED", "forbidden": "failed FORBIDDEN",
      "forbidden-up": "failed FORBIDDEN", "broken": "paused retries SERVER_ERROR",
      "far": "paused retries NETWORK_UNREACHABLE", "nowhere": "paused retries NETWORK_UNREACHABLE",
      "secretless": "paused retries SECRET_UNAVAILABLE", "down": "completed", "up": "completed",
    ]
    for (id, state) in expected { #expect(run.state(id) == state, "\(id): \(run.errors)") }
    #expect(run["blocked"]["state"].string == "failed")
    let hints = run.transfers.compactMap { $0["error"]["hint"].string }
    #expect(hints.allSatisfy { !$0.isEmpty })
    #expect(Set(hints).count >= 7)
    #expect(run["absent"]["error"]["http_status"].int == 404)
    #expect(try bench.isSame("down.bin", "a.bin"))
    #expect(try Sums.file(bench.served + "/in/here.bin") == Sums.file(bench.job + "/here.bin"))
  }

  @Test(.enabled(if: getuid() == 0, "needs root to mount a small tmpfs")) func fullDisk() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    let folder = try bench.scratch.folder("job/small")
    try bench.serve("big.bin", size: 5_000_000)
    try bench.serve("small.bin", size: 1000)
    let isMounted = (try? Sums.shell("mount -t tmpfs -o size=2m tmpfs \(folder)", in: "/")) != nil
    if !isMounted { try Test.cancel("a tmpfs can't be mounted here") }
    defer { _ = try? Sums.shell("umount \(folder)", in: "/") }
    let yaml = """
      version: 1
      job: full
      endpoints: { depot: \(depot.endpoint) }
      \(Self.quick)
      defaults: { policy: quick, chunk_size: 256KiB }
      transfers:
        - { id: big, download: "depot:big.bin", to: small/big.bin }
        - { id: streamed, download: "\(depot.url)/files/big.bin", to: small/streamed.bin }
        - { id: ok, download: "depot:small.bin", to: ok.bin }
      """
    let run = try await bench.run(yaml)
    #expect(run.status == 75)
    #expect(run.faults == "")
    for id in ["big", "streamed"] {
      #expect(run[id]["state"].string == "paused")
      #expect(run[id]["error"]["code"].string == "DISK_FULL")
      #expect(run[id]["error"]["hint"].string?.contains("space") == true)
    }
    #expect(run.state("ok") == "completed")
    #expect(!bench.exists("small/big.bin"))
    // With room, the same command finishes it.
    _ = try Sums.shell("mount -o remount,size=32m \(folder)", in: "/")
    let again = try await bench.run()
    #expect(again.status == 0, "\(again.errors)")
    #expect(try bench.isSame("small/big.bin", "big.bin"))
    #expect(again.report["run"]["attempt"].int == 2)
  }
}
