import Foundation
import TestSupport
import Testing

/// Signed URLs in rows that end while a run goes on: the row has new ones by then.
@Suite(.turns)
struct RenewedRowsTests {
  private func rows(_ bench: Bench, _ url: String, _ signature: String, _ names: [String]) throws {
    let lines = names.map { "\($0),\(url)/\($0)?sig=\(signature)" }
    try Data(("name,url\n" + lines.joined(separator: "\n") + "\n").utf8).write(
      to: URL(fileURLWithPath: bench.job + "/rows.csv"), options: .atomic)
  }

  private func yaml(_ transfer: String) -> String {
    """
    version: 1
    job: rows
    policies: { p: { transfers: 1, chunks_in_flight: 1, retry: { attempts: 2, initial: 10ms } } }
    defaults: { policy: p, chunk_size: 64KiB }
    transfers:
      - { id: rows, for_each: { csv: rows.csv, key: "${each.name}" }, \(transfer) }
    """
  }

  @Test(arguments: [true, false]) func downloads(_ isRenewed: Bool) async throws {
    let bench = try Bench()
    let server = try await SignedURLServer(bench, "one")
    let url = server.url
    for name in ["a", "b"] { try bench.serve(name, size: 600_000) }
    try rows(bench, url, "one", ["a", "b"])
    try bench.writeJob(yaml("download: \"${each.url}\", to: \"${each.name}\""))
    let run = try await Midway.meet(bench, after: 2, of: ["rows/a"]) {
      if isRenewed { try rows(bench, url, "two-of-lead", ["a", "b"]) }
      try server.take("two-of-lead")
    }
    if isRenewed {
      #expect(
        run.status == 0 && run.state("rows/a") == "completed" && run.state("rows/b") == "completed",
        "\(run.errors)")
      #expect(try bench.isSame("a", "a") && bench.isSame("b", "b"))
      #expect(run.totals["bytes"]["discarded"].int == 0 && run.transferred == 1_200_000)
      #expect(!(run.errors + run.end.output).contains("two-of-lead"))
      // It is the same transfer, and known by its new URL.
      #expect(try await bench.run(nil).state("rows/a") == "up_to_date")
    } else {
      #expect(run.state("rows/b") == "failed FORBIDDEN", "\(run.errors)")
    }
    #expect(run.faults == "")
  }

  @Test func uploads() async throws {
    let bench = try Bench()
    let server = try await SignedURLServer(bench, "one")
    let url = server.url
    for name in ["a", "b"] { try bench.source("src/" + name, size: 300_000) }
    try rows(bench, url, "one", ["a", "b"])
    try server.take("two-of-lead")
    try bench.writeJob(yaml("upload: \"src/${each.name}\", to: \"${each.url}\""))
    let first = try await bench.run(nil)
    #expect(first.state("rows/a") == "failed FORBIDDEN", "\(first.errors)")
    try rows(bench, url, "two-of-lead", ["a", "b"])
    let run = try await bench.run(nil)
    #expect(run.status == 0, "\(run.errors)")
    #expect(try Sums.file(bench.served + "/a") == Sums.file(bench.job + "/src/a"))
    // Another signature is no other destination: nothing is sent again for it.
    try rows(bench, url, "three-of-tin", ["a", "b"])
    try server.take("three-of-tin")
    let again = try await bench.run(nil)
    #expect(again.state("rows/a") == "up_to_date" && again.transferred == 0, "\(again.errors)")
  }
}
