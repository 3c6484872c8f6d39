import Foundation
import TestSupport
import Testing

/// Downloads from servers of every make: nothing, one byte, and some chunks.
@Suite(.turns)
struct ServersTests {
  private static let sizes = ["zero.bin": 0, "one.bin": 1, "some.bin": (3 << 20) + 7]

  /// Downloads each file from below `url` and compares them.
  private func downloadAll(_ bench: Bench, _ url: String, query: String = "") async throws -> HaulRun {
    for (name, size) in Self.sizes { try bench.serve(name, size: size, seed: UInt64(size)) }
    var yaml = "version: 1\njob: servers\ndefaults: { chunk_size: 1MiB }\ntransfers:\n"
    for name in Self.sizes.keys.sorted() {
      yaml += "  - { id: \(name), download: \(quoted(url + "/" + name + query)), to: got/\(name) }\n"
    }
    let run = try await bench.run(yaml)
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.faults == "")
    for (name, size) in Self.sizes {
      #expect(run.state(name) == "completed")
      #expect(run[name]["size"].int == Int64(size))
      #expect(try bench.isSame("got/" + name, name))
    }
    return run
  }

  @Test func depot() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    let run = try await downloadAll(bench, depot.url + "/files")
    #expect(run["some.bin"]["verification"].array.contains { $0["check"].string == "sha256" })
    #expect(run["some.bin"]["chunks"]["total"].int == 4)
  }

  @Test(.enabled(if: Nginx.isInstalled, "needs nginx")) func nginx() async throws {
    let bench = try Bench()
    let nginx = try await Nginx(bench)
    let run = try await downloadAll(bench, nginx.url)
    #expect(run["some.bin"]["chunks"]["completed"].int == 4)
    // It would have compressed them.
    #expect(nginx.log().allSatisfy { $0["encoding"].string == "" })
  }

  @Test(.enabled(if: Apache.isInstalled, "needs apache2")) func apache() async throws {
    let bench = try Bench()
    let apache = try await Apache(bench)
    let run = try await downloadAll(bench, apache.url)
    #expect(run["some.bin"]["chunks"]["completed"].int == 4)
  }

  @Test func pythonWithoutRanges() async throws {
    let bench = try Bench()
    let server = try await PythonServer(bench)
    let run = try await downloadAll(bench, server.url)
    #expect(run.remarks.contains("can't be resumed"), "\(run.remarks)")
  }

  @Test(arguments: [
    "close", "chunked", "redirect", "elsewhere", "nohead", "busy", "norange", "flaky", "plain",
  ])
  func quirk(_ manner: String) async throws {
    let bench = try Bench()
    let other = try await QuirkServer(bench)
    let server = try await QuirkServer(bench, other: other.url)
    let run = try await downloadAll(bench, server.url + "/" + manner)
    if ["close", "chunked", "norange"].contains(manner) {
      #expect(run.remarks.contains("can't be resumed"), "\(run.remarks)")
    }
    if manner == "busy" {
      #expect((run["some.bin"]["retries"].int ?? 0) >= 1)
      #expect((run["some.bin"]["duration_s"].double ?? 0) >= 0.9, "Retry-After is kept")
    }
  }

  @Test func rangesThatAreNeverRight() async throws {
    let bench = try Bench()
    let server = try await QuirkServer(bench)
    try bench.serve("a.bin", size: 300_000)
    let run = try await bench.run(
      """
      version: 1
      job: wrong
      policies: { p: { retry: { attempts: 3, initial: 10ms, max: 20ms } } }
      defaults: { policy: p, chunk_size: 100KB }
      transfers:
        - { id: wrong, download: "\(server.url)/wrongrange/a.bin", to: a.bin }
        - { id: short, download: "\(server.url)/short/a.bin", to: b.bin }
        - { id: loop, download: "\(server.url)/loop/a.bin", to: c.bin }
        - { id: good, download: "\(server.url)/plain/a.bin", to: d.bin }
      """)
    #expect(run.faults == "")
    #expect(run.state("wrong") == "failed RANGE_INVALID")
    #expect(run.state("loop") == "failed POLICY_DENIED")
    #expect(run.state("good") == "completed")
    // The last byte never comes.
    #expect(run.state("short").hasPrefix("paused retries"))
    #expect(!bench.exists("a.bin") && !bench.exists("c.bin"))
  }

  /// Whatever the server sent along, credentials stay with the origin they are for.
  @Test func credentialsDoNotFollowElsewhere() async throws {
    let bench = try Bench()
    let other = try await QuirkServer(bench)
    let server = try await QuirkServer(bench, other: other.url)
    try bench.serve("a.bin", size: 1000)
    let run = try await bench.run(
      """
      version: 1
      job: redirects
      endpoints:
        web:
          type: http
          url: \(server.url)
          auth: { bearer: { env: TOKEN } }
          headers: { X-Key: { env: KEY } }
      transfers:
        - { id: near, download: "web:redirect/a.bin", to: near.bin }
        - { id: far, download: "web:elsewhere/a.bin", to: far.bin }
      """, environment: ["TOKEN": "s3cret-token", "KEY": "s3cret-key"])
    #expect(run.status == 0, "\(run.errors)")
    let near = server.log().filter { $0["path"].string == "/plain/a.bin" }
    #expect(
      !near.isEmpty && near.allSatisfy { $0["headers"]["authorization"].string == "Bearer s3cret-token" })
    let far = other.log()
    #expect(!far.isEmpty)
    #expect(far.allSatisfy { $0["headers"]["authorization"].isNull && $0["headers"]["x-key"].isNull })
  }

  @Test(.enabled(if: Nginx.isInstalled, "needs nginx")) func putToNginx() async throws {
    let bench = try Bench()
    let nginx = try await Nginx(bench)
    for (name, size) in Self.sizes { try bench.source("src/" + name, size: size, seed: UInt64(size + 1)) }
    let run = try await bench.run(
      """
      version: 1
      job: put
      endpoints: { web: { type: http, url: "\(nginx.url)" } }
      transfers:
        - { id: all, upload: "src/*", to: "web:in/", verify: readback }
      """)
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.faults == "")
    #expect(try Sums.tree(bench.job + "/src") == Sums.tree(bench.served + "/in"))
    #expect(
      run["all/some.bin"]["verification"].array.contains {
        $0["check"].string == "readback" && $0["result"].string == "match"
      })
  }
}
