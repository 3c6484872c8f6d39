import Foundation
import TestSupport
import Testing

/// A plan whose inputs are as they were is not compiled again; any difference in them is seen.
@Suite(.turns)
struct RecompileTests {
  private let yaml = """
    version: 1
    job: again
    policies: { once: { retry: { attempts: 1 } } }
    defaults: { policy: once }
    transfers:
      - { id: none, download: "http://127.0.0.1:1/", to: none, enabled: false }
      - id: rows
        for_each: { csv: rows.csv, key: "${each.name}" }
        download: "http://127.0.0.1:1/${env.FOLDER|default(none)}/${each.name}"
        to: "${each.name}"
    """

  /// Runs nothing of the plan; gives what `plan_compiled` said, and how the transfers are called.
  private func look(
    _ bench: Bench, _ more: [String] = [], manifest: String = "job.yaml", environment: [String: String] = [:]
  ) async throws -> (unchanged: Bool?, ids: [String], sources: Set<String>) {
    let events = bench.scratch.path + "/events-\(UUID().uuidString)"
    _ = try await bench.haul(
      ["run", manifest, "--only", "none", "--events", events, "--report", bench.reportPath] + more,
      environment: environment)
    let lines = String(decoding: try #require(FileManager.default.contents(atPath: events)), as: UTF8.self)
    let compiled = try lines.split(separator: "\n").map { try JSON.parse(String($0)) }
      .first { $0["event"].string == "plan_compiled" }
    let text = String(
      decoding: try #require(FileManager.default.contents(atPath: bench.reportPath)), as: UTF8.self)
    let transfers = try JSON.parse(text)["transfers"].array.filter { $0["id"].string != "none" }
    return (
      compiled?["unchanged"].bool, transfers.compactMap { $0["id"].string },
      Set(transfers.compactMap { $0["source"].string })
    )
  }

  private func write(_ bench: Bench, _ rows: String) throws {
    try Data(rows.utf8).write(to: URL(fileURLWithPath: bench.job + "/rows.csv"))
    // A file that has only just changed is read again: its clock may not have ticked since.
    usleep(200_000)
  }

  /// A fault that only the rows have leaves nothing behind, whichever command finds it.
  @Test(arguments: ["check", "plan", "run"])
  func faultyRowsLeaveNoState(_ command: String) async throws {
    let bench = try Bench()
    try bench.writeJob(yaml)
    try write(bench, "name\na\na\n")
    let end = try await bench.haul([command, "job.yaml"])
    #expect(end.status == 65)
    #expect(try FileManager.default.contentsOfDirectory(atPath: bench.state) == [])
  }

  /// Plans that were made before are known again by what progress belongs to: its value stays as it was.
  @Test func identityIsWhatItWas() async throws {
    let bench = try Bench()
    try bench.writeJob(
      """
      version: 1
      job: known
      endpoints:
        web: { type: http, url: "https://w.example.net/base" }
        store:
          type: s3
          url: "https://s3.example.net"
          region: eu-central-1
          bucket: media
          auth: { aws: { profile: p } }
      defaults: { enabled: false }
      transfers:
        - { id: url, download: "https://h.example.net/a?sig=1", to: out/a }
        - { id: named, download: "web:x/ü", to: "./b:c" }
        - { id: up, upload: src/f, to: "store:up/f" }
      """)
    #expect(try await bench.haul(["run", "job.yaml"]).status == 0)
    let found = try Sums.shell(
      "sqlite3 plan.sqlite 'SELECT id, hex(identity) FROM transfer ORDER BY seq'", in: bench.state + "/known")
    // By Python's hashlib: the first eight bytes of the SHA-256 of the parts with NULs between them.
    #expect(found == "url|0114F1C8C7D55711\nnamed|0018DCECC43EF8F9\nup|3B069B069DAC39A8\n")
  }

  @Test func everyInputCounts() async throws {
    let bench = try Bench()
    try bench.writeJob(yaml)
    try write(bench, "name\na1\na2\n")
    #expect(try await look(bench).unchanged == false)
    let same = try await look(bench)
    #expect(same.unchanged == true && same.ids == ["rows/a1", "rows/a2"])
    // However its path is written.
    for path in ["./job.yaml", bench.job + "/job.yaml"] {
      #expect(try await look(bench, manifest: path).unchanged == true, "\(path)")
    }
    // As many bytes, in the same file, with the old modification time put back.
    let path = bench.job + "/rows.csv"
    let old = try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    try file.write(contentsOf: Data("name\nb1\nb2\n".utf8))
    try file.close()
    try FileManager.default.setAttributes([.modificationDate: try #require(old)], ofItemAtPath: path)
    usleep(200_000)
    let edited = try await look(bench)
    #expect(edited.unchanged == false && edited.ids == ["rows/b1", "rows/b2"])
    #expect(try await look(bench).unchanged == true)
    // What comes from the environment is an input too.
    let moved = try await look(bench, environment: ["FOLDER": "x"])
    #expect(moved.unchanged == false && moved.sources.contains("http://127.0.0.1:1/x/b1"))
    #expect(try await look(bench, environment: ["FOLDER": "x"]).unchanged == true)
    // The manifest itself, and then as it was before.
    try bench.writeJob(yaml.replacingOccurrences(of: "to: \"${each.name}\"", with: "to: \"o/${each.name}\""))
    #expect(try await look(bench, environment: ["FOLDER": "x"]).unchanged == false)
    try bench.writeJob(yaml)
    let back = try await look(bench, environment: ["FOLDER": "x"])
    #expect(back.unchanged == false && back.ids == ["rows/b1", "rows/b2"])
  }

  @Test func whatMayChangeUnseenIsLookedAt() async throws {
    let bench = try Bench()
    try bench.source("one.bin", size: 3)
    try bench.writeJob(
      """
      version: 1
      job: again
      transfers:
        - { id: none, download: "http://127.0.0.1:1/", to: none, enabled: false }
        - { id: up, upload: "*.bin", to: "http://127.0.0.1:1/" }
      """)
    #expect(try await look(bench).unchanged == false)
    try bench.source("two.bin", size: 3)
    let second = try await look(bench)
    #expect(second.unchanged == false && second.ids == ["up/one.bin", "up/two.bin"])
  }
}
