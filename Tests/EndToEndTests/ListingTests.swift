import TestSupport
import Testing

/// Listings of prefixes while a job is compiled.
@Suite(.turns, .timeLimit(.minutes(30)))
struct ListingTests {
  /// Each page is answered after 2 ms, so that the task that waits for it goes on on one thread or another. An optimised
  /// build with `Synchronization.Mutex` crashed in one plan of four.
  @Test func manyQuickPages() async throws {
    let bench = try Bench()
    let pages = stride(from: 0, to: 200, by: 10).map { first in
      WordedServer.Rule(
        first == 0 ? "" : "continuation-token=t\(first).", body: Self.page(first..<first + 10, of: 200),
        pause: 0.002)
    }
    let server = try await WordedServer(bench, pages.reversed())
    try bench.writeJob(
      """
      version: 1
      job: pages
      endpoints: { store: { type: s3, url: \(quoted(server.url)), bucket: bkt, auth: none } }
      transfers:
        - { id: all, download: "store:p/", to: out/ }
      """)
    for _ in 0..<8 {
      let plan = try await bench.haul(["plan", "job.yaml", "--json"])
      #expect(plan.status == 0, "\(plan.errors)")
      #expect(plan.output.contains("p/k199"), "\(plan.output.suffix(300))")
    }
  }

  private static func page(_ keys: Range<Int>, of count: Int) -> String {
    let next =
      keys.upperBound < count ? "<NextContinuationToken>t\(keys.upperBound).</NextContinuationToken>" : ""
    let items = keys.map { "<Contents><Key>p/k\($0)</Key><Size>3</Size></Contents>" }.joined()
    return
      "<ListBucketResult><IsTruncated>\(keys.upperBound < count)</IsTruncated>\(next)\(items)</ListBucketResult>"
  }
}
