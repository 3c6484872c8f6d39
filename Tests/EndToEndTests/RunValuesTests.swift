import Foundation
import TestSupport
import Testing

/// Destinations with values of their run: each run's files are its own, and what is under way goes on at the new place.
@Suite(.turns)
struct RunValuesTests {
  private static let size = 640 << 10

  private func yaml(_ depot: Depot, _ transfer: String) -> String {
    """
    version: 1
    job: nightly
    endpoints: { depot: \(depot.endpoint) }
    defaults: { chunk_size: 64KiB, policy: { chunks_in_flight: 1, retry: { attempts: 1 } } }
    transfers: [{ id: one, \(transfer) }]

    """
  }

  private func fault(_ method: String, _ path: String, skip: Int) -> String {
    #"{"match": {"method": "\#(method)", "path": "\#(path)"}, "skip": \#(skip), "times": 1, "action": {"status": 503}}"#
  }

  private func id(_ run: HaulRun) -> String { run.report["run"]["id"].string ?? "?" }

  @Test(arguments: ["", "f.bin"])
  func eachRunHasItsOwnFile(_ name: String) async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    var places: [(path: String, sum: String?)] = []
    for seed: UInt64 in [1, 2, 2] {
      try bench.serve("f.bin", size: 5000, seed: seed)
      let run = try await bench.run(
        yaml(depot, "download: \"depot:f.bin\", to: \"kept/${run.id}/\(name)\""))
      #expect(run.status == 0 && run.state("one") == "completed", "\(run.errors)")
      let path = "kept/\(id(run))/f.bin"
      #expect(run["one"]["destination"].string == path)
      places.append((path, try Sums.file(bench.served + "/f.bin")))
    }
    for place in places { #expect(try Sums.file(bench.job + "/" + place.path) == place.sum) }
  }

  @Test(arguments: ["", "f.bin"])
  func aDownloadGoesOnInTheNextRun(_ name: String) async throws {
    let bench = try Bench()
    let depot = try await Depot(bench, faults: [fault("GET", "/files/f.bin", skip: 1)])
    try bench.serve("f.bin", size: Self.size)
    let job = yaml(depot, "download: \"depot:f.bin\", to: \"kept/${run.id}/\(name)\"")
    let first = try await bench.run(job)
    #expect(first.status == 75 && first.state("one") == "paused retries SERVER_ERROR", "\(first.errors)")
    let next = try await bench.run(nil)
    #expect(next.status == 0 && id(next) != id(first), "\(next.errors)")
    #expect(next["one"]["bytes"]["reused"].int ?? 0 >= 64 << 10)
    #expect(next["one"]["destination"].string == "kept/\(id(next))/f.bin")
    #expect(try bench.isSame("kept/\(id(next))/f.bin", "f.bin"))
    #expect(bench.parts() == [])
  }

  /// What was begun for the old name is ended there: a session has one name.
  @Test func anUploadBeginsAnewUnderItsNewName() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench, faults: [fault("PUT", "/uploads/*", skip: 3)])
    try bench.source("f.bin", size: Self.size)
    let first = try await bench.run(yaml(depot, "upload: f.bin, to: \"depot:in/${run.id}.bin\""))
    #expect(first.status == 75 && first.state("one") == "paused retries SERVER_ERROR", "\(first.errors)")
    var names: [String] = []
    for _ in 0..<2 {
      let plan = try await bench.haul(["plan", "job.yaml"])
      #expect(plan.status == 0 && plan.output.contains("to move of 640"), "\(plan.output)")
      let run = try await bench.run(nil)
      #expect(run.status == 0 && run.state("one") == "completed", "\(run.errors)")
      names.append(id(run) + ".bin")
    }
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: bench.served + "/in").sorted() == names.sorted())
    for name in names {
      #expect(try Sums.file(bench.served + "/in/" + name) == Sums.file(bench.job + "/f.bin"))
    }
    let left = try await bench.haul(["gc", "--dry-run"])
    #expect(left.errors.contains("nothing to remove") || left.output.contains("nothing to remove"), "\(left)")
  }

  /// What an earlier attempt compared says nothing of other bytes.
  @Test func checksAreOfTheBytesThatWereMoved() async throws {
    let bench = try Bench()
    let server = try await PythonServer(bench)
    try bench.serve("f.bin", size: 5000, seed: 1)
    let sum = try #require(try Sums.file(bench.served + "/f.bin"))
    func job(_ expect: String) -> String {
      """
      version: 1
      job: checked
      transfers: [{ id: one, download: "\(server.url)/f.bin", to: f.bin\(expect) }]

      """
    }
    let first = try await bench.run(job(", expect: { sha256: \(sum), type: application/pdf }"))
    #expect(first.state("one") == "failed TYPE_MISMATCH", "\(first.errors)")
    try bench.serve("f.bin", size: 6000, seed: 2)
    let next = try await bench.run(job(""))
    #expect(next.status == 0 && next.state("one") == "completed", "\(next.errors)")
    let checks = next["one"]["verification"].array
    #expect(!checks.contains { $0["against"].string == "manifest" }, "\(checks)")
    #expect(!checks.contains { $0["result"].string == "mismatch" }, "\(checks)")
  }
}
