import Foundation
import TestSupport
import Testing

/// Names as they come: byte by byte two, and odd keys of stores.
@Suite(.turns)
struct NamesTests {
  /// To Swift's strings each pair is one; to the file system, the store and the user it is two.
  @Test func canonicallyEquivalentNames() async throws {
    let pairs = [
      ("caf\u{e9}", "cafe\u{301}"), ("K", "\u{212A}"), ("\u{C5}", "\u{212B}"),
      ("\u{AC00}", "\u{1100}\u{1161}"),
    ]
    let names = pairs.flatMap { [$0.0, $0.1] }
    let bench = try Bench()
    let server = try await KeyServer(bench, keys: names.map { "p/" + $0 })
    try Data(names.map { $0 + "\n" }.joined().utf8).write(to: URL(fileURLWithPath: bench.job + "/rows.txt"))
    let yaml = """
      version: 1
      job: names
      endpoints: { store: \(server.endpoint) }
      transfers:
        - { id: rows, for_each: { list: rows.txt }, download: "store:p/${each.line}", to: "rows/${each.line}" }
        - { id: keys, download: "store:p/", to: keys/ }

      """
    for state in ["completed", "up_to_date"] {
      let run = try await bench.run(yaml, ["--new-run"])
      #expect(run.status == 0, "\(run.errors)")
      #expect(run.transfers.count == 16 && run.transfers.allSatisfy { $0["state"].string == state })
    }
    for folder in ["rows", "keys"] {
      for name in names {
        #expect(
          FileManager.default.contents(atPath: bench.job + "/\(folder)/\(name)") == Data("p/\(name)".utf8))
      }
    }
  }

  /// A key that no file can have as its name fails by itself, is named, and keeps none of the others.
  @Test func oddKeysOfAPrefix() async throws {
    let good = ["%2e%2e/z", "a//b", "/lead", "plain", "tab\tand\nline", "%00", "sub/..x"]
    let bad = ["n\0ul", "../up", ".big.0123456789abcdef.haul-part", "d/.."]
    let bench = try Bench()
    let server = try await KeyServer(bench, keys: (good + bad).map { "k/" + $0 })
    let yaml = """
      version: 1
      job: odd
      endpoints: { store: \(server.endpoint) }
      transfers: [ { id: k, download: "store:k/", to: in/ } ]

      """
    for round in 1...2 {
      let run = try await bench.run(yaml)
      #expect(run.status == 1, "\(run.errors)")
      #expect(run.totals["failed"].int == 4 && run.transfers.count == 11, "\(run.errors)")
      #expect(run.totals[round == 1 ? "completed" : "up_to_date"].int == 7, "\(run.errors)")
      #expect(run.state("k/n%00ul") == "failed PERMISSION_DENIED")
      #expect(run["k/n%00ul"]["error"]["message"].string?.contains("NUL") == true)
      #expect(run["k/../up"]["error"]["message"].string?.contains("climbs") == true)
    }
    let paths = ["%2e%2e/z", "a/b", "lead", "plain", "tab\tand\nline", "%00", "sub/..x"]
    for (key, path) in zip(good, paths) {
      #expect(
        FileManager.default.contents(atPath: bench.job + "/in/" + path) == Data("k/\(key)".utf8), "\(key)")
    }
    #expect(!bench.exists("in/n") && !bench.exists("up"))
  }

  /// Two keys on one path: one is there, and the other one's failure names both.
  @Test func keysOnOnePath() async throws {
    let bench = try Bench()
    let server = try await KeyServer(bench, keys: ["k/a//b", "k/a/b", "k/d", "k/d/e", "k/z"])
    let run = try await bench.run(
      """
      version: 1
      job: odd
      endpoints: { store: \(server.endpoint) }
      transfers: [ { id: k, download: "store:k/", to: in/ } ]

      """)
    #expect(run.status == 1, "\(run.errors)")
    #expect(run.totals["failed"].int == 2 && run.totals["completed"].int == 3, "\(run.errors)")
    #expect(run.errors.contains("`k/a//b` and `k/a/b`") && run.state("k/z") == "completed")
  }
}
