import Foundation
import TestSupport
import Testing

/// Report, events and depot's own access log tell of the same bytes, whatever went wrong on the way.
@Suite(.turns)
struct ReconcileTests {
  private static let size = (4 << 20) + 7
  private static let chunk = 512 << 10

  private static func rule(_ method: String, _ path: String, _ action: String, skip: Int = 0) -> String {
    "{\"match\": {\"method\": \"\(method)\", \"path\": \"\(path)\"}, \"skip\": \(skip), \"times\": 1, \"action\": \(action)}"
  }

  private static let faults = [
    rule("GET", "/files/a.bin", #"{"dropAfter": "100KiB"}"#, skip: 1),
    rule("GET", "/files/a.bin", #"{"flipBit": 5}"#, skip: 2),
    rule("GET", "/files/a.bin", #"{"status": 503}"#, skip: 3),
    rule("GET", "/files/a.bin", #"{"loseAnswer": true}"#, skip: 4),
    rule("GET", "/files/a.bin", #"{"dropAfter": "300KiB"}"#, skip: 7),
    rule("GET", "/files/one.bin", #"{"flipBit": 5}"#),
    rule("PUT", "*/chunks/1", #"{"dropUploadAfter": "100KiB"}"#),
    rule("PUT", "*/chunks/2", #"{"flipUploadBit": 9}"#),
    rule("PUT", "*/chunks/3", #"{"loseAnswer": true}"#),
    rule("PUT", "*/chunks/4", #"{"status": 503}"#),
    rule("PUT", "*/chunks/6", #"{"expire": true}"#),
  ]

  @Test func toTheByte() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench, faults: Self.faults)
    try bench.serve("a.bin", size: Self.size, seed: 1)
    try bench.serve("one.bin", size: 70_000, seed: 2)
    try bench.serve("clean.bin", size: Self.size, seed: 3)
    try bench.source("up.bin", size: Self.size, seed: 4)
    try bench.source("clean-up.bin", size: 300_000, seed: 5)
    let events = bench.scratch.path + "/events.jsonl"
    let run = try await bench.run(
      """
      version: 1
      job: sums
      endpoints: { depot: \(depot.endpoint) }
      policies: { p: { transfers: 1, chunks_in_flight: 2, retry: { attempts: 8, initial: 20ms, max: 100ms } } }
      defaults: { policy: p, chunk_size: \(Self.chunk) }
      transfers:
        - { id: down, download: "depot:a.bin", to: a.bin }
        - { id: one, download: "depot:one.bin", to: one.bin }
        - { id: clean, download: "depot:clean.bin", to: clean.bin }
        - { id: up, upload: up.bin, to: "depot:in/up.bin" }
        - { id: back, upload: clean-up.bin, to: "depot:in/back.bin", verify: readback }

      """, ["--events", events])
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.faults == "")
    #expect(try await Schema.faults(of: events, name: "event", isLines: true) == "")
    let sizes = ["down": Self.size, "one": 70_000, "clean": Self.size, "up": Self.size, "back": 300_000]
    for (id, size) in sizes {
      let bytes = run[id]["bytes"]
      #expect(bytes["reused"].int == 0)
      #expect(
        (bytes["transferred"].int ?? 0) - (bytes["discarded"].int ?? 0) == Int64(size), "\(id): \(bytes)")
    }
    #expect(run["clean"]["bytes"]["discarded"].int == 0)
    // Every fault cost something, or it did not happen.
    let wasted = run["up"]["bytes"]["discarded"].int ?? 0
    #expect(wasted >= 2 * Int64(Self.chunk), "\(wasted)")
    #expect(
      (run["down"]["bytes"]["discarded"].int ?? 0) > 0 && run["one"]["bytes"]["discarded"].int == 70_000)
    try agree(JSON.lines(events), run, sizes)
    try agree(try await depot.log(), run)
  }

  /// The events' own sums are the report's, and its useful bytes are those of the chunks.
  private func agree(_ lines: [JSON], _ run: HaulRun, _ sizes: [String: Int]) throws {
    var total: Int64 = 0
    for (id, size) in sizes {
      let mine = lines.filter { $0["id"].string == id }
      let last = try #require(mine.last { $0["event"].string == "transfer_state" })
      #expect(last["to"].string == "completed" && last["bytes"] == run[id]["bytes"], "\(id): \(last)")
      let done = mine.filter { $0["event"].string == "chunk_completed" }.reduce(0) {
        $0 + ($1["bytes"].int ?? 0)
      }
      total += last["bytes"]["transferred"].int ?? 0
      let moved = last["bytes"]["transferred"].int ?? 0
      #expect(done >= Int64(size) && done <= moved, "\(id): chunks of \(done) bytes, \(moved) transferred")
      if id == "clean" { #expect(done == Int64(size)) }
    }
    #expect(total == run.transferred)
  }

  /// What depot counted at its own end of each connection.
  ///
  /// Only where depot itself broke a connection in the middle of a body may haul have written more than depot read:
  /// at most the rest of that body, which lay in socket buffers.
  private func agree(_ log: [Visit], _ run: HaulRun) throws {
    for (id, path) in ["down": "/files/a.bin", "one": "/files/one.bin", "clean": "/files/clean.bin"] {
      let visits = log.downloads.filter { $0.path == path && $0.status != 503 }
      let sent = visits.reduce(0) { $0 + $1.sent }
      #expect(run[id]["bytes"]["transferred"].int == sent, "\(id): \(run[id]["bytes"]), depot \(sent)")
    }
    func chunks(of total: Int) -> [Visit] {
      log.chunks.filter { $0.line["content_range"].string?.hasSuffix("/\(total)") == true }
    }
    let back = chunks(of: 300_000).reduce(0) { $0 + $1.received }
    let read = log.downloads.filter { $0.path.hasPrefix("/files/rf-") }.reduce(0) { $0 + $1.sent }
    #expect(run["back"]["bytes"]["transferred"].int == back + read && read == 300_000)
    #expect(run["back"]["bytes"]["discarded"].int == read)

    let visits = chunks(of: Self.size)
    let received = visits.reduce(0) { $0 + $1.received }
    let broken = visits.filter { visit in
      visit.status == nil && visit.received < Self.length(visit)
    }
    let slack = broken.reduce(0) { $0 + Self.length($1) - $1.received }
    let told = run["up"]["bytes"]["transferred"].int ?? 0
    #expect(broken.count == 1, "\(broken.map(\.line))")
    #expect(told >= received && told <= received + slack, "haul \(told), depot \(received), broken \(slack)")
  }

  private static func length(_ chunk: Visit) -> Int64 {
    guard let first = chunk.offset, let last = chunk.lastOffset else { return 0 }
    return last - first + 1
  }
}
