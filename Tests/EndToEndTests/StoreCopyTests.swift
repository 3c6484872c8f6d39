import Foundation
import TestSupport
import Testing

/// Copies within one S3 service that nobody here wrote: what each of them does by itself (docs/endpoints.md).
@Suite(.stores, .turns)
struct StoreCopyTests {
  typealias Make = Store.Make
  private static let part = 5 << 20
  private static let environment = Store.environment
  private let place = "c\(UUID().uuidString.prefix(8).lowercased())"

  private func job(_ endpoint: String, _ transfers: [String]) -> String {
    """
    version: 1
    job: stores
    policies: { p: { retry: { attempts: 4, initial: 10ms, max: 50ms } } }
    endpoints: { s3: \(endpoint) }
    defaults: { policy: p }
    transfers:
    \(transfers.map { "  - " + $0 }.joined(separator: "\n"))
    """
  }

  /// Who copies; nil where nobody here relies on it.
  private func mover(_ make: Make, isParts: Bool) -> String? {
    switch make {
    case .seaweedfs, .juicefs: "service"
    // It stores an empty part for one that is to be copied, and says nothing of a copy.
    case .rclone: isParts ? "relay" : "service"
    case .swift: nil
    }
  }

  @Test(arguments: Make.allCases) func byTheStoreItself(_ make: Make) async throws {
    let (bench, store) = (try Bench(), try Store.shared(make))
    let sizes = ["empty": 0, "ä b+c": 1000, "large": 4 * Self.part + 7]
    let ups = try sizes.sorted { $0.key < $1.key }.enumerated().map { number, file in
      try bench.source("up/\(file.key)", size: file.value, seed: UInt64(number + 1))
      return "{ id: up\(number), upload: \"up/\(file.key)\", to: \"s3:\(place)/\(file.key)\" }"
    }
    let up = try await bench.run(job(store.endpoint(), ups), environment: Self.environment)
    #expect(up.status == 0, "\(up.errors)")
    let proxy = try await StoreProxy(bench, store)
    let names = sizes.keys.sorted()
    let copies = names.enumerated().map { number, name in
      "{ id: c\(number), copy: \"s3:\(place)/\(name)\", to: \"s3:\(place)/copy/\(name)\" }"
    }
    let parts =
      "{ id: parts, copy: \"s3:\(place)/large\", to: \"s3:\(place)/parts\", chunk_size: 5MiB }"
    let run = try await bench.run(
      job(store.endpoint(through: proxy), copies + [parts]).replacing("job: stores", with: "job: copies"),
      environment: Self.environment)
    #expect(run.status == 0 && run.faults == "", "\(run.errors) \(run.faults)")
    let sums = try await store.sums(place + "/")
    for name in names {
      #expect(try sums["\(place)/copy/\(name)"] == Sums.file(bench.job + "/up/" + name), "\(name)")
    }
    #expect(sums["\(place)/parts"] == sums["\(place)/large"])
    for (id, isParts) in [("c0", false), ("c1", false), ("c2", false), ("parts", true)] {
      #expect(run.state(id) == "completed")
      guard let mover = mover(make, isParts: isParts) else { continue }
      #expect(run[id]["copied_by"].string == mover, "\(id): \(run.remarks)")
      guard mover == "service" else { continue }
      #expect(run[id]["bytes"]["transferred"].int == 0)
      let checks = run[id]["verification"].array.filter { $0["result"].string == "match" }
      #expect(checks.contains { $0["check"].string == "size" }, "\(run[id]["verification"])")
      // What one request stored has its MD5 for an ETag.
      #expect(isParts || id == "c1" || checks.contains { $0["check"].string == "etag" })
    }
    if make != .rclone, make != .swift {
      #expect(!proxy.visits.contains { $0.hasPrefix("GET") && !$0.contains("?") }, "\(proxy.visits)")
    }
  }

  /// A new object is read, asked for its tags and written, and not looked at besides. Where nothing has changed, listings of both ends tell it;
  /// what has changed is found all the same.
  @Test func requestsOfManySmallCopies() async throws {
    let (bench, store, other) = (try Bench(), try Store.shared(.seaweedfs), try Store.shared(.juicefs))
    let count: Int64 = 200
    _ = try await store.boto(
      "for n in range(\(count)): s3.put_object(Bucket='bkt', Key='\(place)/%d' % n, Body=b'x' * (n and 1000 + n))"
    )
    // The listing told another size of it.
    let proxy = try await StoreProxy(
      bench, store,
      [#"{"method": "GET", "match": "/bkt/\#(place)/111", "do": "intrude", "key": "\#(place)/111"}"#])
    let yaml = job(
      "\(store.endpoint(through: proxy)), to: \(other.endpoint())",
      ["{ id: all, copy: \"s3:\(place)/\", to: \"to:\(place)/\" }"])
    let run = try await bench.run(yaml, environment: Self.environment)
    #expect(run.status == 0 && run.totals["completed"].int == count, "\(run.errors)")
    #expect(try await other.sums(place + "/") == store.sums(place + "/"))
    #expect(run.totals["requests"].int ?? .max <= 3 * count + count / 10)
    #expect(proxy.visits.count { $0.hasPrefix("HEAD") } <= 1, "\(proxy.visits)")
    let before = proxy.visits.count
    let again = try await bench.run(nil, environment: Self.environment)
    #expect(again.status == 0 && again.totals["up_to_date"].int == count, "\(again.errors)")
    #expect(again.transferred == 0 && again.totals["requests"].int ?? .max <= count / 50)
    #expect(proxy.visits.dropFirst(before).allSatisfy { $0.contains("list-type") }, "\(proxy.visits)")
    _ = try await store.boto("s3.put_object(Bucket='bkt', Key='\(place)/7', Body=b'y' * 1007)")
    let mended = try await bench.run(nil, environment: Self.environment)
    #expect(mended.status == 0 && mended.totals["completed"].int == 1, "\(mended.errors)")
    #expect(mended["all/7"]["moved_because"].string == "source_changed")
    #expect(try await other.sums(place + "/7") == store.sums(place + "/7"))
  }

  /// Others get the place of the transfer that asks a silent store for a page, and then wait for the next page that it asks for: it
  /// waits for none of them.
  @Test func aListingThatComesLate() async throws {
    let (bench, store, other) = (try Bench(), try Store.shared(.seaweedfs), try Store.shared(.juicefs))
    _ = try await store.boto(
      "for n in range(40): s3.put_object(Bucket='bkt', Key='\(place)/%d' % n, Body=b'x' * n)")
    let proxy = try await StoreProxy(bench, store)
    let yaml = job(
      "\(store.endpoint(through: proxy)), to: \(other.endpoint())",
      ["{ id: all, copy: \"s3:\(place)/\", to: \"to:\(place)/\", policy: { transfers: 2 } }"])
    let run = try await bench.run(yaml, environment: Self.environment)
    #expect(run.status == 0, "\(run.errors)")
    // The first page makes the plan.
    try proxy.set([#"{"method": "GET", "match": "list-type", "do": "hold", "skip": 1}"#])
    let running = try bench.start(bench.runArguments(), environment: Self.environment)
    while !proxy.visits.contains(where: { $0.hasPrefix("held") }) {
      try #require(running.isAlive, "\(running.errors)")
      try await Task.sleep(for: .milliseconds(10))
    }
    // It is silent after half a second.
    try await Task.sleep(for: .seconds(2))
    try proxy.set([])
    let again = try await HaulRun(running.wait(.seconds(120)), reportPath: bench.reportPath)
    #expect(again.status == 0 && again.totals["up_to_date"].int == 40, "\(again.errors)")
  }
}
