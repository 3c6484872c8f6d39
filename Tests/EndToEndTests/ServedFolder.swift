import Foundation
import TestSupport
import Testing

/// What holds of every kind whose servers serve a folder: WebDAV and SFTP. In its manifests the endpoint is `files`.
struct ServedFolder {
  let bench: Bench
  /// What is served.
  let folder: String
  let environment: [String: String]
  /// An endpoint in a manifest, below a folder of the server.
  let endpoint: (_ base: String) -> String
  var defaults = ""

  private func job(_ transfer: String, at base: String = "", name: String = "folder") -> String {
    Self.job(endpoint(base), [transfer], name: name, defaults: defaults)
  }

  private func run(_ manifest: String?) async throws -> HaulRun {
    try await bench.run(manifest, environment: environment)
  }

  private func files() throws -> [String: String] { try Self.files(folder) }

  /// - Parameters:
  ///   - name: of the job: to another one, what stands there is not its own.
  ///   - defaults: more of them.
  static func job(_ endpoint: String, _ transfers: [String], name: String = "folder", defaults: String = "")
    -> String
  {
    """
    version: 1
    job: \(name)
    policies: { p: { retry: { attempts: 3, initial: 10ms, max: 50ms } } }
    endpoints: { files: \(endpoint) }
    defaults: { policy: p\(defaults) }
    transfers:
    \(transfers.map { "  - " + $0 }.joined(separator: "\n"))
    """
  }

  /// What lies in the folder, by name.
  static func files(_ folder: String) throws -> [String: String] {
    Dictionary(
      uniqueKeysWithValues: try Sums.tree(folder).map {
        ($0.key.hasPrefix("./") ? String($0.key.dropFirst(2)) : $0.key, $0.value)
      })
  }

  /// Makes what `up` sends.
  func make(_ names: [String], sizes: Int) throws {
    for (number, name) in names.enumerated() {
      try bench.source(
        "up/" + name, size: name == "empty" ? 0 : sizes * number + 7, seed: UInt64(number + 1))
    }
  }

  /// Sends a tree, which then is up to date.
  ///
  /// - Parameter rest: until the server's word of the files can be relied on.
  func up(_ names: [String], rest: Duration = .zero) async throws -> HaulRun {
    let run = try await run(job("{ id: up, upload: up/**, to: \"files:in/new/\" }"))
    #expect(run.status == 0 && run.faults == "", "\(run.errors)")
    let there = try files()
    #expect(there.count == names.count, "\(there.keys)")
    for name in names {
      #expect(try there["in/new/" + name] == Sums.file(bench.job + "/up/" + name), "\(name)")
    }
    try await Task.sleep(for: rest)
    let again = try await self.run(nil)
    #expect(again.status == 0 && again.transferred == 0, "\(again.errors)")
    #expect(again.totals["up_to_date"].int == Int64(names.count))
    return run
  }

  /// Fetches what `up` has sent.
  func down(_ names: [String], _ keys: String = "") async throws {
    let run = try await run(
      job("{ id: down, download: \"files:new/\", to: down/\(keys) }", at: "/in"))
    #expect(run.status == 0 && run.faults == "", "\(run.errors)")
    for name in names {
      #expect(try Sums.file(bench.job + "/down/" + name) == Sums.file(bench.job + "/up/" + name), "\(name)")
    }
    let unchanged = try await self.run(nil)
    #expect(unchanged.status == 0 && unchanged.transferred == 0, "\(unchanged.errors)")
  }

  /// A changed source replaces its file; `keep` and `fail` of another job do not.
  func replaces() async throws {
    try bench.source("a.bin", size: 5000, seed: 1)
    let first = try await run(job("{ id: one, upload: a.bin, to: \"files:in/a.bin\", verify: readback }"))
    #expect(first.status == 0, "\(first.errors)")
    try bench.source("a.bin", size: 6000, seed: 2)
    let second = try await run(nil)
    #expect(second.status == 0 && second.state("one") == "completed", "\(second.errors)")
    let sum = try Sums.file(bench.job + "/a.bin")
    #expect(try files() == ["in/a.bin": sum])
    try bench.source("b.bin", size: 10, seed: 3)
    for (rule, state) in [("keep", "skipped exists"), ("fail", "failed DESTINATION_EXISTS")] {
      let other = try await run(
        job("{ id: other, upload: b.bin, to: \"files:in/a.bin\", if_exists: \(rule) }", name: "other"))
      #expect(other.state("other") == state, "\(other.errors)")
    }
    #expect(try files() == ["in/a.bin": sum])
  }

  /// The endpoint's own folder is missing, and a prefix that nothing lies below.
  func tellsWhatIsMissing() async throws {
    try bench.source("a.bin", size: 5000)
    for path in ["x/a.bin", "a.bin"] {
      let run = try await run(job("{ id: up, upload: a.bin, to: \"files:\(path)\" }", at: "/nowhere"))
      #expect(run.state("up") == "failed NOT_FOUND", "\(run.errors)")
      #expect(run["up"]["error"]["message"].string?.contains("correct the endpoint's `url`") == true)
    }
    try bench.writeJob(job("{ id: all, download: \"files:x/\", to: x/ }"))
    let plan = try await bench.haul(["plan", "job.yaml"], environment: environment)
    #expect(plan.status != 0 && plan.errors.contains("nothing lies below `files:x/`"), "\(plan.errors)")
    #expect(try files().isEmpty)
  }

  /// An upload that leaves the manifest takes its temporary name along.
  func keepsNothingOfAnAbandonedUpload() async throws {
    try bench.source("a.bin", size: 4 << 20)
    try bench.writeJob(
      job("{ id: one, upload: a.bin, to: \"files:one.bin\", policy: { bandwidth: 2MiB/s } }"))
    let running = try bench.start(bench.runArguments(), environment: environment)
    try await RemoteKills.wait {
      running.isAlive && (try? FileManager.default.contentsOfDirectory(atPath: folder).isEmpty) == true
    }
    running.signal(SIGKILL)
    try await running.wait()
    try bench.source("b.bin", size: 10)
    let run = try await run(job("{ id: two, upload: b.bin, to: \"files:two.bin\" }"))
    #expect(run.status == 0, "\(run.errors)")
    #expect(try files().keys.sorted() == ["two.bin"])
  }
}
