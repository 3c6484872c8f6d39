import Foundation
import TestSupport
import Testing

/// Two hundred transfers of every kind in one job, and the same again.
@Suite(.turns, .enabled(if: Nginx.isInstalled, "needs nginx"))
struct MixedTransfersTests {
  private static let chunk = 65_536
  private static let sizes = [
    0, 1, chunk - 1, chunk, chunk + 1, 5, 1000, 3 * chunk + 1, 2 * chunk - 1, 200_000,
  ]
  private static let names = [
    "plain", "with space", "hash#1", "percent%41", "question?x=1", "ünïcödé-日本", "semi;colon&amp",
    "plus+plus",
    "quote'd", "brace{s}",
  ]
  private static let bigSize = 300 << 20

  private func name(_ index: Int) -> String {
    "\(Self.names[index % 10])/\(Self.names[index / 10 % 10]) \(index).bin"
  }

  @Test func twoHundredThenNothing() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    let nginx = try await Nginx(bench)
    var yaml = """
      version: 1
      job: mixed
      endpoints:
        depot: \(depot.endpoint)
        web: { type: http, url: \(quoted(nginx.url)) }
      policies: { p: { transfers: 8 } }
      defaults: { policy: p, chunk_size: 64KiB }
      transfers:
        - { id: big, download: "depot:out/big.bin", to: "got/out/big.bin", chunk_size: 8MiB }
        - { id: up, upload: "up/depot/**", to: "depot:in/depot/" }
        - { id: put, upload: "up/web/**", to: "web:in/web/" }

      """
    try bench.serve("out/big.bin", size: Self.bigSize, seed: 77)
    var planned = Self.bigSize
    for index in 0..<100 {
      let size = Self.sizes[(index + index / 10) % 10]
      try bench.serve("out/" + name(index), size: size, seed: UInt64(index))
      // A glob's characters in a source are a glob's: uploads are found by one, not named.
      if index < 99 {
        try bench.source(
          "up/\(index % 2 == 0 ? "depot" : "web")/\(name(index))", size: size, seed: UInt64(index + 500))
        planned += size
      }
      planned += size
      let source = index % 2 == 0 ? "depot:out/\(name(index))" : "web:out/\(name(index))"
      yaml += "  - { id: d\(index), download: \(quoted(source)), to: \(quoted("got/out/" + name(index))) }\n"
    }
    let first = try await bench.run(yaml, limit: .seconds(150))
    #expect(first.status == 0, "\(first.errors.suffix(1500))")
    #expect(first.faults == "")
    #expect(first.outcome == "completed")
    #expect(first.totals["transfers"].int == 200)
    #expect(first.totals["completed"].int == 200)
    #expect(first.transferred == Int64(planned))
    #expect(first.totals["bytes"]["planned"].int == Int64(planned))
    #expect(first.totals["bytes"]["discarded"].int == 0)
    #expect(try Sums.tree(bench.job + "/got/out") == Sums.tree(bench.served + "/out"))
    #expect(try Sums.tree(bench.job + "/up") == Sums.tree(bench.served + "/in"))
    #expect(bench.parts().isEmpty)

    let visits = try await depot.log().count
    let webVisits = nginx.log().count
    let second = try await bench.run()
    #expect(second.status == 0, "\(second.errors.suffix(1500))")
    #expect(second.faults == "")
    #expect(second.totals["up_to_date"].int == 200)
    #expect(second.transferred == 0)
    #expect(second.report["run"]["number"].int == 2)
    let later = try await depot.log().dropFirst(visits)
    #expect(Array(later).moved == 0)
    #expect(later.allSatisfy { !$0.isChunk && !$0.isCreate })
    #expect(nginx.log().dropFirst(webVisits).allSatisfy { $0["method"].string == "HEAD" })
  }
}
