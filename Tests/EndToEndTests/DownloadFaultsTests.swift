import Foundation
import TestSupport
import Testing

/// Downloads from a depot that errs as it is told: each ends as the contract says.
@Suite(.turns)
struct DownloadFaultsTests {
  private static let size = 4 << 20
  /// Worth questions about its ranges.
  private static let large = 33 << 20
  /// What such a question tells of at least.
  private static let part = 16 << 20

  private func run(
    _ faults: [String], size: Int = size, more: String = "", attempts: Int = 4
  ) async throws -> (Bench, Depot, HaulRun) {
    let bench = try Bench()
    let depot = try await Depot(bench, faults: faults)
    try bench.serve("a.bin", size: size, seed: 11)
    try bench.serve("other.bin", size: size, seed: 12)
    try bench.serve("third.bin", size: size, seed: 13)
    let run = try await bench.run(
      """
      version: 1
      job: faults
      endpoints: { depot: \(depot.endpoint) }
      policies: { p: { retry: { attempts: \(attempts), initial: 20ms, max: 100ms } } }
      defaults: { policy: p, chunk_size: 512KiB }
      transfers:
        - { id: one, download: "depot:a.bin", to: a.bin\(more) }
        - { id: beside, download: "depot:third.bin", to: third.bin }
      """)
    #expect(run.faults == "")
    #expect(run.state("beside") == "completed")
    return (bench, depot, run)
  }

  private static func rule(_ action: String, skip: Int = 0, times: Int? = 1) -> String {
    let times = times.map { ", \"times\": \($0)" } ?? ""
    return
      "{\"match\": {\"method\": \"GET\", \"path\": \"/files/a.bin\"}, \"skip\": \(skip)\(times), \"action\": \(action)}"
  }

  /// Faults that pass: the file arrives, and little is moved twice.
  @Test(arguments: [
    #"{"dropAfter": "100KiB"}"#, #"{"contentRange": "wrong"}"#, #"{"contentRange": "none"}"#,
    #"{"shiftRange": 1000}"#, #"{"shortBy": 10}"#, #"{"longBy": 10}"#, #"{"status": 503}"#,
    #"{"status": 429, "retryAfter": "1"}"#, #"{"status": 500}"#, #"{"loseAnswer": true}"#,
    #"{"chunked": true}"#,
    #"{"etag": "none"}"#, #"{"delay": "500ms"}"#, #"{"reprDigest": "none"}"#,
    #"{"reprDigest": "wrong"}"#,
  ])
  func passing(_ action: String) async throws {
    for skip in [0, 2] {
      let (bench, depot, run) = try await run([Self.rule(action, skip: skip)])
      #expect(run.status == 0, "skip \(skip): \(run.errors)")
      #expect(run.state("one") == "completed")
      #expect(try bench.isSame("a.bin", "a.bin"))
      let again = try await depot.log().moved - Int64(2 * Self.size)
      // Without its ETag, or with another digest, the object is another one for all anybody knows: that one starts over.
      let isAnother = action.contains("etag") || action.contains("reprDigest\": \"wrong")
      #expect(
        again <= (isAnother ? 8 : 3) << 20, "skip \(skip): \(again) bytes more than needed")
      // What is not what was asked for is refused, however honest: its bytes are another worker's.
      if action.contains("ange") { #expect((run["one"]["max_chunk_attempts"].int ?? 0) >= 2, "skip \(skip)") }
      if action.contains("429") { #expect((run["one"]["duration_s"].double ?? 0) >= 0.9) }
      if action.contains("50") && action.contains("status") { #expect((run["one"]["retries"].int ?? 0) >= 1) }
    }
  }

  /// The server says of ranges what it sent: the part that is wrong is fetched again, and the others stay.
  @Test func flippedBitIsFetchedAgain() async throws {
    let (bench, depot, run) = try await run([Self.rule(#"{"flipBit": 5}"#, skip: 1)], size: Self.large)
    #expect(run.status == 0, "\(run.errors)")
    #expect(try bench.isSame("a.bin", "a.bin"))
    #expect(run.remarks.contains("\(Self.part) of its \(Self.large) bytes"), "\(run.remarks)")
    #expect(run["one"]["bytes"]["discarded"].int == Int64(Self.part))
    #expect(run["one"]["bytes"]["transferred"].int == Int64(Self.large + Self.part))
    // The whole, its first part, the others.
    let asked = try await depot.log().count {
      $0.isDownload && $0.path.hasSuffix("a.bin") && ($0.lastOffset ?? 0) - ($0.offset ?? 0) >= Self.part - 1
    }
    #expect(asked == 3)
  }

  /// What its questions would make the server send is not less than the file itself: that is fetched, and counted.
  @Test func flippedBitInASmallFile() async throws {
    let (bench, depot, run) = try await run([Self.rule(#"{"flipBit": 5}"#, skip: 1)])
    #expect(run.status == 0, "\(run.errors)")
    #expect(try bench.isSame("a.bin", "a.bin"))
    #expect(run["one"]["bytes"]["discarded"].int == Int64(Self.size))
    #expect(try await depot.log().moved == run.transferred, "bytes were sent that nobody read")
  }

  /// The chunk that is fetched again is proved by its own digest.
  @Test func flippedBitInTheSameChunkAgain() async throws {
    func rule(_ skip: Int, _ more: String) -> String {
      """
      {"match": {"path": "/files/a.bin", "header": {"range": "bytes=1048576-1572863"\(more)}},
      "skip": \(skip), "times": 1, "action": {"flipBit": 5}}
      """
    }
    let (bench, _, run) = try await run(
      [Self.rule(#"{"flipBit": 5}"#, skip: 1), rule(0, #", "want-content-digest": "*""#)], size: Self.large)
    #expect(run.status == 0, "\(run.errors)")
    #expect(try bench.isSame("a.bin", "a.bin"))
    #expect(run["one"]["max_chunk_attempts"].int == 2)
    #expect(run["one"]["bytes"]["transferred"].int == Int64(Self.large + Self.part + 512 << 10))
    #expect(!run.remarks.contains("everything"), "\(run.remarks)")
  }

  /// Without digests of ranges, or with false ones, all is fetched once more, and the whole file's digest judges.
  @Test(arguments: ["none", "wrong"]) func flippedBitSomewhere(_ digests: String) async throws {
    let (bench, _, run) = try await run(
      [
        Self.rule(#"{"flipBit": 5}"#, skip: 1), Self.rule("{\"contentDigest\": \"\(digests)\"}", times: nil),
      ], size: Self.large)
    #expect(run.status == 0, "\(run.errors)")
    #expect(try bench.isSame("a.bin", "a.bin"))
    #expect((run["one"]["bytes"]["discarded"].int ?? 0) >= Int64(Self.large))
    #expect(run.remarks.contains("everything is fetched once more"), "\(run.remarks)")
  }

  @Test(arguments: ["none", "wrong", nil]) func flippedBitsForEver(_ digests: String?) async throws {
    let more = digests.map { ", \"contentDigest\": \"\($0)\"" } ?? ""
    let size = digests == "none" ? Self.size : Self.large
    let (bench, _, run) = try await run([Self.rule("{\"flipBit\": 5\(more)}", times: nil)], size: size)
    #expect(run.status == 1)
    #expect(run.state("one") == "failed INTEGRITY_MISMATCH")
    #expect(run["one"]["error"]["expected"].string == (try Sums.file(bench.served + "/a.bin")))
    #expect(!bench.exists("a.bin"))
    #expect(bench.parts().isEmpty)
  }

  /// 200 for a range: one stream, said so, and complete.
  @Test(arguments: [0, 2]) func rangesIgnored(_ skip: Int) async throws {
    let (bench, _, run) = try await run([Self.rule(#"{"ignoreRange": true}"#, skip: skip, times: nil)])
    #expect(run.status == 0, "\(run.errors)")
    #expect(try bench.isSame("a.bin", "a.bin"))
    #expect(run.remarks.contains("one stream"), "\(run.remarks)")
  }

  @Test func brokenForEver() async throws {
    let (bench, _, run) = try await run([Self.rule(#"{"status": 503}"#, times: nil)], attempts: 3)
    #expect(run.status == 75)
    #expect(run.state("one") == "paused retries SERVER_ERROR")
    #expect(run["one"]["last_http_status"].int == 503)
    #expect(!bench.exists("a.bin"))
  }

  @Test func alwaysShort() async throws {
    let (_, _, run) = try await run([Self.rule(#"{"dropAfter": 0}"#, times: nil)], attempts: 3)
    #expect(run.status == 75)
    #expect(run.state("one") == "paused retries NETWORK_UNREACHABLE")
    #expect(run["one"]["max_chunk_attempts"].int == 3)
  }

  /// Progress renews the tries: each answer brings a little, and all of it arrives.
  @Test func littleByLittle() async throws {
    let (bench, _, run) = try await run([Self.rule(#"{"dropAfter": "600KiB"}"#, times: nil)], attempts: 3)
    #expect(run.status == 0, "\(run.errors)")
    #expect(try bench.isSame("a.bin", "a.bin"))
  }

  @Test func objectChangesOnce() async throws {
    let (bench, _, run) = try await run([
      Self.rule(#"{"replaceWith": "other.bin"}"#, skip: 3, times: nil),
      #"{"match": {"path": "/files/a.bin/meta"}, "skip": 1, "action": {"replaceWith": "other.bin"}}"#,
    ])
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.state("one") == "completed")
    #expect(try bench.isSame("a.bin", "other.bin"))
    #expect(run.remarks.contains("changed"), "\(run.remarks)")
  }

  @Test func objectChangesAgain() async throws {
    let changes = stride(from: 2, to: 60, by: 4).enumerated().map { index, skip in
      Self.rule("{\"replaceWith\": \"\(["other.bin", "third.bin"][index % 2])\"}", skip: skip, times: 4)
    }
    let (bench, _, run) = try await run(changes, size: 16 << 20)
    #expect(run.status == 1)
    #expect(run.state("one") == "failed REMOTE_CHANGED")
    #expect(!bench.exists("a.bin"))
    #expect(bench.parts().isEmpty)
  }
}
