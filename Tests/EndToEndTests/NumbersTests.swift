import Foundation
import TestSupport
import Testing

/// Numbers of servers and of files at the ends of their types: none ends haul.
@Suite(.turns)
struct NumbersTests {
  private static let rule = WordedServer.Rule(
    "/f", headers: ["Last-Modified": "Fri, 31 Dec 9999 23:59:59 GMT", "ETag": "\"1\""], body: "bytes")

  private func job(_ transfers: [String], _ more: String = "") -> String {
    """
    version: 1
    job: numbers
    defaults: { policy: { retry: { attempts: 2, initial: 10ms }, network: { proxy: none } }\(more) }
    transfers:
    \(transfers.map { "  - " + $0 }.joined(separator: "\n"))
    """
  }

  private func setTime(_ path: String, _ seconds: Int) {
    let times = [timespec(tv_sec: seconds, tv_nsec: 0), timespec(tv_sec: seconds, tv_nsec: 0)]
    #expect(utimensat(AT_FDCWD, path, times, 0) == 0)
  }

  @Test func lastModifiedInTheYear9999() async throws {
    let bench = try Bench()
    let server = try await WordedServer(bench, [Self.rule])
    let job = job(["{ id: f, download: \(quoted(server.url + "/f")), to: f, mtime: source }"])
    for state in ["completed", "up_to_date"] {
      let run = try await bench.run(job)
      #expect(run.status == 0 && run.state("f") == state, "\(run.errors)")
      #expect(run.faults == "")
    }
  }

  /// A wish for 292 thousand million years is kept for a day, and told as such by each run.
  @Test(arguments: ["9223372036854775807", "99999999999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"])
  func retryAfterBeyondAllTime(_ wish: String) async throws {
    let bench = try Bench()
    let server = try await WordedServer(bench, [.init("", status: 429, headers: ["Retry-After": wish])])
    let job = job(["{ id: f, download: \(quoted(server.url + "/f")), to: f }"])
    for _ in 0..<2 {
      let run = try await bench.run(job, ["--no-wait", "--events", bench.scratch.path + "/events"])
      #expect(run.status == 75 && run.state("f").hasPrefix("paused retries"), "\(run.errors)")
      #expect(run.faults == "")
    }
    let status = try await bench.haul(["status", "job.yaml", "--json"])
    #expect(status.status == 0, "\(status.errors)")
    #expect(server.log().count == 1)
  }

  /// A source and a destination of the year 2300, which has no place in 64 bits of nanoseconds.
  @Test func filesOfTheYear2300() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    let (server, year) = (try await WordedServer(bench, [Self.rule]), 10_413_792_000)
    try bench.source("up", size: 70_000)
    setTime(bench.job + "/up", year)
    let job = """
      version: 1
      job: numbers
      endpoints: { depot: { type: session, url: \(quoted(depot.url)) } }
      defaults: { policy: { network: { proxy: none } } }
      transfers:
        - { id: up, upload: up, to: "depot:up" }
        - { id: down, download: \(quoted(server.url + "/f")), to: down }
      """
    let first = try await bench.run(job)
    #expect(first.status == 0, "\(first.errors)")
    setTime(bench.job + "/down", year)
    let second = try await bench.run(job)
    #expect(second.status == 0 && second.state("up") == "up_to_date", "\(second.errors)")
    // Another time of the same file, as far ahead, is another time.
    setTime(bench.job + "/up", year + 1)
    let third = try await bench.run(job)
    #expect(third.status == 0, "\(third.errors)")
  }

  /// Sizes that are more than 64 bits together.
  @Test func sizesWithoutASum() async throws {
    let bench = try Bench()
    let items = (0..<20).map { "<Contents><Key>p/k\($0)</Key><Size>1152921504606846976</Size></Contents>" }
      .joined()
    let server = try await WordedServer(
      bench,
      [
        .init(
          "list-type", body: "<ListBucketResult><IsTruncated>false</IsTruncated>\(items)</ListBucketResult>")
      ])
    let job = """
      version: 1
      job: numbers
      endpoints: { store: { type: s3, url: \(quoted(server.url)), bucket: bkt, auth: none } }
      defaults: { policy: { retry: { attempts: 1 } } }
      transfers:
        - { id: all, download: "store:p/", to: out/ }
      """
    try bench.writeJob(job)
    let plan = try await bench.haul(["plan", "job.yaml"])
    #expect(plan.status == 0 && plan.output.contains("20 transfers"), "\(plan.errors)")
    let run = try await bench.run()
    #expect(run.status == 1, "\(run.errors)")
    #expect(run.faults == "")
    #expect(run.totals["bytes"]["planned"].int == .max, "\(run.totals)")
  }
}
