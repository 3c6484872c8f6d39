import Foundation
import TestSupport
import Testing

/// Uploads whose content is at their destination already: nothing of them is sent.
@Suite(.turns)
struct DuplicateUploadTests {
  private func job(_ server: PresignedServer, _ transfer: String, params: String = "album: summer") -> String
  {
    """
    version: 1
    job: twice
    endpoints: { api: \(PresignedTests.endpoint(server, ", params: { \(params) }")) }
    defaults: { chunk_size: 64KiB }
    transfers: [{ \(transfer), to: "api:up.bin" }]
    """
  }

  /// Under another id, from another path, by another refresh rule: the digest says that it is the same. Other content,
  /// or another store, is sent.
  @Test(arguments: [
    ("id: two, upload: up.bin", "", "album: summer", "up_to_date duplicate"),
    ("id: one, upload: moved.bin", "mv up.bin moved.bin", "album: summer", "up_to_date duplicate"),
    ("id: two, upload: up.bin, refresh: never", "", "album: summer", "up_to_date duplicate"),
    ("id: two, upload: up.bin, refresh: always", "", "album: summer", "completed"),
    (
      "id: two, upload: up.bin", "printf x | dd of=up.bin bs=1 seek=7 conv=notrunc", "album: summer",
      "completed"
    ),
    ("id: two, upload: up.bin, refresh: never", "printf x >> up.bin", "album: summer", "completed"),
    ("id: two, upload: up.bin", "", "album: winter", "completed"),
  ])
  func underAnotherID(_ transfer: String, _ change: String, _ params: String, _ state: String) async throws {
    let bench = try Bench()
    let server = try await PresignedServer(bench, token: PresignedTests.token, options: "\"partSize\": 65536")
    try bench.source("up.bin", size: 200_000)
    let environment = ["TOKEN": PresignedTests.token]
    let first = try await bench.run(job(server, "id: one, upload: up.bin"), environment: environment)
    #expect(first.status == 0, "\(first.errors)")
    let key = first["one"]["remote_id"].string
    if !change.isEmpty { _ = try Sums.shell(change + " 2>/dev/null", in: bench.job) }
    let run = try await bench.run(job(server, transfer, params: params), environment: environment)
    let id = transfer.contains("id: two") ? "two" : "one"
    #expect(run.state(id) == state, "\(run.errors)")
    #expect(run.faults == "" && run.status == 0)
    if state == "completed" {
      #expect(run.transferred > 0)
    } else {
      #expect(run.transferred == 0 && run[id]["bytes"]["reused"].int == 200_000)
      #expect(run[id]["remote_id"].string == key && key != nil)
      let next = try await bench.run(nil, environment: environment)
      #expect(next.state(id) == "up_to_date", "\(next.errors)")
    }
  }

  /// What somebody else has put there is adopted under each rule where the server tells its digest.
  @Test(arguments: ["replace", "keep", "fail"]) func adopted(_ rule: String) async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.source("a.bin", size: 200_000)
    _ = try Sums.shell("mkdir -p up && cp \(bench.job)/a.bin up/a.bin", in: bench.served)
    // Depot's files, asked as of any web server: it takes no PUT there.
    let run = try await bench.run(
      """
      version: 1
      job: adopts
      policies: { p: { retry: { attempts: 1 } } }
      endpoints: { web: { type: http, url: "\(depot.url)/files" } }
      defaults: { policy: p }
      transfers: [{ id: a, upload: a.bin, to: "web:up/a.bin", if_exists: \(rule) }]
      """)
    #expect(run.state("a") == "up_to_date adopted", "\(run.errors)")
    #expect(run.transferred == 0 && run.faults == "")
  }
}
