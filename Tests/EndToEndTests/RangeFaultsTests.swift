import Foundation
import TestSupport
import Testing

/// Servers and proxies whose ranges, lengths or versions do not add up: no byte of theirs is ever published.
@Suite(.turns)
struct RangeFaultsTests {
  private func run(_ manner: String, more: String = "") async throws -> (Bench, QuirkServer, HaulRun) {
    let bench = try Bench()
    let quirks = try await QuirkServer(bench)
    try bench.serve("a.bin", size: 2_000_000, seed: 81)
    try bench.serve("a.bin.new", size: 1_900_000, seed: 82)
    try bench.serve("b.bin", size: 1000, seed: 83)
    let run = try await bench.run(
      """
      version: 1
      job: ranges
      policies: { p: { chunks_in_flight: 1, retry: { attempts: 3, initial: 10ms, max: 20ms } } }
      defaults: { policy: p, chunk_size: 256KiB }
      transfers:
        - { id: one, download: "\(quirks.url)/\(manner)/a.bin", to: a.bin\(more) }
        - { id: beside, download: "\(quirks.url)/plain/b.bin", to: b.bin }

      """)
    #expect(run.faults == "")
    #expect(run.state("beside") == "completed")
    return (bench, quirks, run)
  }

  /// Ranges that are wrong in every answer: refused before a byte is written.
  @Test(arguments: ["multipart", "misrange", "wrongrange", "longer"]) func neverRight(_ manner: String)
    async throws
  {
    let (bench, _, run) = try await run(manner)
    #expect(run.status == 1)
    #expect(run.state("one") == "failed RANGE_INVALID", "\(run.errors)")
    let said = run["one"]["error"]["message"].string ?? ""
    #expect(manner != "multipart" || said.contains("multipart/byteranges"), "\(said)")
    #expect(run["one"]["max_chunk_attempts"].int == 3)
    #expect(run["one"]["bytes"]["transferred"].int == 0)
    #expect(!bench.exists("a.bin") && bench.parts().isEmpty)
  }

  /// What a refusal or a redirect says without end is not waited for: its status counts.
  @Test(arguments: [
    ("404", "failed NOT_FOUND"), ("503", "paused retries SERVER_ERROR"), ("302", "completed"),
  ])
  func endlessRefusals(_ status: String, _ state: String) async throws {
    let (_, _, run) = try await run("endless/\(status)")
    #expect(run.state("one") == state, "\(run.errors)")
  }

  /// A server that hangs up behind its answer has not taken what was not sent.
  @Test func answeredTooEarly() async throws {
    let bench = try Bench()
    let quirks = try await QuirkServer(bench)
    try bench.source("a.bin", size: 20_000_000)
    let run = try await bench.run(
      """
      version: 1
      job: early
      policies: { p: { retry: { attempts: 2, initial: 10ms, max: 20ms } } }
      transfers:
        - { id: up, upload: a.bin, to: "\(quirks.url)/early/a.bin", policy: p }

      """)
    #expect(run.status == 1 && run.state("up") == "failed PROTOCOL_VIOLATION", "\(run.errors)")
  }

  /// A server may give less than was asked for, if it says so: the rest is asked for.
  @Test func honestlyShorter() async throws {
    let (bench, _, run) = try await run("half")
    #expect(run.status == 0, "\(run.errors)")
    #expect(try bench.isSame("a.bin", "a.bin"))
    #expect(run.transferred == 2_001_000)
  }

  /// Another object under the name, half-way: what came of the old one is thrown away, once.
  @Test func replacedHalfWay() async throws {
    let (bench, _, run) = try await run("replaced")
    #expect(run.status == 0, "\(run.errors)")
    #expect(try bench.isSame("a.bin", "a.bin.new"))
    #expect(run.remarks.contains("changed"), "\(run.remarks)")
    #expect(run["one"]["bytes"]["discarded"].int ?? 0 > 0)
  }

  /// Another object of the same size, in ranges that no condition kept back: its tag alone tells.
  @Test func swappedHalfWay() async throws {
    let (bench, _, run) = try await run("swapped")
    #expect(run.status == 0, "\(run.errors)")
    let swapped = try Sums.shell(
      "python3 -c 'import sys; sys.stdout.buffer.write(open(\"a.bin\", \"rb\").read()[::-1])' | sha256sum",
      in: bench.served)
    #expect(try Sums.file(bench.job + "/a.bin") == String(swapped.prefix(64)))
    #expect(run.remarks.contains("changed"), "\(run.remarks)")
  }

  /// One ETag, another size: asked once more, then it counts as another object; never a mixture of both.
  @Test func sameTagAnotherSize() async throws {
    let (bench, _, run) = try await run("grown")
    #expect(run.status == 0, "\(run.errors)")
    let grown = try Sums.shell(
      "(cat a.bin; head -c 1000 /dev/zero | tr '\\0' x) | sha256sum", in: bench.served)
    #expect(try Sums.file(bench.job + "/a.bin") == String(grown.prefix(64)))
    #expect(run.remarks.contains("changed"), "\(run.remarks)")
  }

  /// Where nothing tells the digest of the whole, an answer's own is the proof of what it brought.
  @Test func damagedOnTheWay() async throws {
    let (bench, quirks, run) = try await run("digested")
    #expect(run.status == 0, "\(run.errors)")
    #expect(try bench.isSame("a.bin", "a.bin"))
    #expect(run["one"]["max_chunk_attempts"].int == 2)
    #expect(run["one"]["bytes"]["discarded"].int == 256 << 10)
    // Recorded at its end, an answer is no longer than the chunk that a kill may cost.
    let asked = quirks.log().filter { $0["path"].string == "/digested/a.bin" }.compactMap { line in
      line["headers"]["range"].string?.dropFirst(6).split(separator: "-").compactMap { Int($0) }
    }
    #expect(asked.count >= 9 && asked.allSatisfy { $0[1] - $0[0] < 256 << 10 }, "\(asked)")
  }

  /// A proxy that decodes on its way: the length is not the one that was told, and nothing proves the bytes.
  @Test func decodedOnTheWay() async throws {
    let (bench, _, run) = try await run("decoded")
    #expect(run.status == 1, "\(run.errors)")
    #expect(run.state("one") == "failed LENGTH_MISMATCH", "\(run.errors)")
    #expect(run["one"]["error"]["expected"].string == "2000000")
    #expect(run["one"]["error"]["actual"].string == "1000000")
    #expect(!bench.exists("a.bin") && bench.parts().isEmpty)
  }

  /// A coding that nobody asked for is told, and what the manifest expects of the bytes decides.
  @Test func codedThoughNotAsked() async throws {
    let digest = String(repeating: "0", count: 64)
    let (bench, _, run) = try await run("coded", more: ", expect: { sha256: \(digest) }")
    #expect(run.state("one") == "failed INTEGRITY_MISMATCH")
    #expect(run.remarks.contains("Content-Encoding `gzip`"), "\(run.remarks)")
    #expect(!bench.exists("a.bin") && bench.parts().isEmpty)
  }
}
