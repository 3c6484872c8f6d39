import Foundation
import TestSupport
import Testing

/// Copies from servers that tell less, or other things, than there are: never a mixture, never a part as the whole.
@Suite(.turns)
struct CopySafetyTests {
  private func job(
    _ depot: Depot, _ source: String, chunk: String = "1MiB", to: String = "depot:x.bin", more: String = ""
  ) -> String {
    """
    version: 1
    job: fickle
    policies: { p: { retry: { attempts: 4, initial: 10ms, max: 50ms } } }
    endpoints: { depot: \(depot.endpoint) }
    defaults: { chunk_size: \(chunk), policy: p }
    transfers: [{ id: a, copy: \(quoted(source)), to: \(quoted(to))\(more) }]
    """
  }

  private func published(_ bench: Bench) -> Data? {
    FileManager.default.contents(atPath: bench.served + "/x.bin")
  }

  /// Of one object or of the other, whatever comes of the run.
  @Test(arguments: ["/mix", "/weak"]) func neverOfTwoObjects(_ path: String) async throws {
    let bench = try Bench()
    let (depot, source) = (try await Depot(bench), try await FickleServer(bench))
    for _ in 0..<2 {
      let run = try await bench.run(job(depot, source.url + path))
      #expect(run.faults == "")
      let bytes = published(bench)
      #expect(
        (bytes != nil) == (run.state("a") == "completed" || run.state("a") == "up_to_date"), "\(run.errors)")
      if let bytes {
        #expect(bytes.count == FickleServer.size && Set(bytes).count == 1, "\(run.errors)")
      }
    }
    #expect(published(bench) != nil, "the second object stays")
  }

  /// What a small object's source says of it counts for the second reading as for the first.
  @Test func aSourceThatVouchesForOtherBytes() async throws {
    let bench = try Bench()
    let wrong = ["GET", "HEAD"].map { method in
      #"{"match": {"method": "\#(method)", "path": "/files/*"}, "action": {"reprDigest": "wrong"}}"#
    }
    let depot = try await Depot(bench, faults: wrong)
    try bench.serve("a.bin", size: 50_000)
    let run = try await bench.run(job(depot, depot.url + "/files/a.bin"))
    #expect(run.faults == "" && run.status == 1)
    #expect(run.state("a") == "failed INTEGRITY_MISMATCH", "\(run.errors)")
    #expect(published(bench) == nil)
  }

  @Test(arguments: ["/long", "/empty"]) func headsThatTellLess(_ path: String) async throws {
    let bench = try Bench()
    let (depot, source) = (try await Depot(bench), try await FickleServer(bench))
    let run = try await bench.run(job(depot, source.url + path))
    #expect(run.status == 1 && run.state("a") == "failed REMOTE_CHANGED", "\(run.errors)")
    #expect(run.faults == "" && published(bench) == nil)
  }

  /// A size that nobody has memory for the chunks of.
  @Test func aSizeWithoutEnd() async throws {
    let bench = try Bench()
    let (depot, source) = (try await Depot(bench), try await FickleServer(bench))
    let run = try await bench.run(job(depot, source.url + "/huge"))
    #expect(run.status == 1 && run.state("a") == "failed PROTOCOL_VIOLATION", "\(run.errors)")
    #expect(run.errors.contains("chunk_size") && run.faults == "", "\(run.errors)")
  }

  @Test(arguments: [true, false]) func theTypeOfAStream(_ isPicture: Bool) async throws {
    let bench = try Bench()
    let (depot, source) = (try await Depot(bench), try await FickleServer(bench))
    let type = isPicture ? "image/jpeg" : "image/png"
    let run = try await bench.run(
      job(depot, source.url + "/picture", more: ", expect: { type: \(type) }"))
    #expect(run.state("a") == (isPicture ? "completed" : "failed TYPE_MISMATCH"), "\(run.errors)")
    #expect((published(bench)?.count == 300_006) == isPicture)
  }

  /// Four chunks that the budget holds only one of; the first to be sent has to be sent again.
  @Test func aCopyThatIsSentAgainDoesNotWaitForThoseBehindIt() async throws {
    let bench = try Bench()
    let depot = try await Depot(
      bench,
      faults: [
        "{\"match\": {\"method\": \"PUT\"}, \"times\": 1, \"action\": {\"status\": 500}}"
      ])
    let size = 12 << 20
    for index in 0..<4 { try bench.serve("in\(index).bin", size: size, seed: UInt64(index + 1)) }
    let copies = (0..<4).map {
      "{ id: c\($0), copy: \"\(depot.url)/files/in\($0).bin\", to: \"depot:out\($0).bin\" }"
    }
    let run = try await bench.run(
      """
      version: 1
      job: budget
      policies: { p: { transfers: 2, retry: { attempts: 4, initial: 300ms, max: 300ms, jitter: none } } }
      endpoints: { depot: \(depot.endpoint) }
      defaults: { chunk_size: 12MiB, policy: p }
      transfers: [\(copies.joined(separator: ", "))]
      """, limit: .seconds(300))
    #expect(run.status == 0 && run.totals["completed"].int == 4, "\(run.errors)")
    for index in 0..<4 {
      #expect(
        try Sums.file(bench.served + "/out\(index).bin") == Sums.file(bench.served + "/in\(index).bin"))
    }
  }
}
