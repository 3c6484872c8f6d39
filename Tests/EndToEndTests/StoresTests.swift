import Foundation
import TestSupport
import Testing

/// S3 against servers that nobody here wrote: SeaweedFS, JuiceFS's gateway (MinIO's code), `rclone serve s3` (gofakes3)
/// and OpenStack Swift.
@Suite(.stores, .turns)
struct StoresTests {
  typealias Make = Store.Make
  private static let part = 5 << 20
  private static let environment = Store.environment

  /// A prefix of the test's own: the stores are shared.
  private let place = "t\(UUID().uuidString.prefix(8).lowercased())"

  private func job(_ endpoint: String, _ transfers: [String]) -> String {
    """
    version: 1
    job: stores
    policies: { p: { retry: { attempts: 4, initial: 10ms, max: 50ms } } }
    endpoints: { s3: \(endpoint) }
    defaults: { chunk_size: 5MiB, policy: p }
    transfers:
    \(transfers.map { "  - " + $0 }.joined(separator: "\n"))
    """
  }

  private func endpoint(
    _ store: Store, _ more: String = "", through proxy: StoreProxy? = nil, bucket: String = "bkt",
    auth: String = "{ aws: { env: true } }"
  ) -> String {
    store.endpoint(
      "multipart_threshold: 5MiB" + (more.isEmpty ? "" : ", " + more), through: proxy, bucket: bucket,
      auth: auth)
  }

  private func checks(_ transfer: JSON) -> Set<String> {
    Set(
      transfer["verification"].array.map {
        "\($0["check"].string ?? "") \($0["against"].string ?? "") \($0["result"].string ?? "")"
      })
  }

  /// What proves an upload: by the answers that stored it.
  private func proof(_ make: Make, _ checksum: String, isParts: Bool) -> String {
    switch (make, checksum) {
    case (.seaweedfs, "crc64nvme"): "crc64nvme server match"
    case (.seaweedfs, "sha256"): isParts ? "sha256-of-parts server match" : "sha256 server match"
    default: isParts ? "md5-of-parts server match" : "md5 server match"
    }
  }

  @Test(arguments: Make.allCases, ["crc64nvme", "sha256", "none"])
  func thereAndBack(_ make: Make, _ checksum: String) async throws {
    let (bench, store) = (try Bench(), try Store.shared(make))
    let sizes = ["empty": 0, "one": 1, "below": Self.part - 1, "parts": 2 * Self.part + 7]
    var transfers: [String] = []
    for (number, (name, size)) in sizes.sorted(by: { $0.value < $1.value }).enumerated() {
      try bench.source("up/\(name)", size: size, seed: UInt64(number + 1))
      transfers += [
        "{ id: up-\(name), upload: up/\(name), to: \"s3:\(place)/\(name)\", verify: required }",
        "{ id: down-\(name), download: \"s3:\(place)/\(name)\", to: down/\(name), needs: [up-\(name)] }",
      ]
    }
    let run = try await bench.run(
      job(endpoint(store, "checksum: \(checksum)"), transfers), environment: Self.environment)
    #expect(run.status == 0 && run.faults == "", "\(run.errors)")
    let sums = try await store.sums(place + "/")
    for (name, size) in sizes {
      let mine = try Sums.file(bench.job + "/up/\(name)")
      #expect(
        try sums["\(place)/\(name)"] == mine && Sums.file(bench.job + "/down/\(name)") == mine, "\(name)")
      let wanted = proof(make, checksum, isParts: size >= Self.part)
      #expect(checks(run["up-\(name)"]).contains(wanted), "\(name): \(checks(run["up-\(name)"]))")
      #expect(!checks(run["up-\(name)"]).contains { $0.hasSuffix("unavailable") })
    }
    #expect(run.remarks == "", "\(run.remarks)")
    let again = try await bench.run(nil, environment: Self.environment)
    #expect(again.status == 0 && again.transferred == 0, "\(again.errors)")
    #expect(again.totals["up_to_date"].int == Int64(transfers.count))
    #expect(again.totals["requests"].int == Int64(transfers.count), "one HEAD an object")
  }

  /// One request a small object each way, and a hundredth of one to see that nothing changed; what did is found all the same.
  @Test(arguments: Make.allCases) func requestsOfManySmallObjects(_ make: Make) async throws {
    let (bench, store) = (try Bench(), try Store.shared(make))
    let count: Int64 = 200
    for number in 0..<Int(count) {
      try bench.source("up/f\(number)", size: 1000 + number, seed: UInt64(number + 1))
    }
    let up = job(endpoint(store), ["{ id: up, upload: \"up/*\", to: \"s3:\(place)/\" }"])
    let down = job(endpoint(store), ["{ id: down, download: \"s3:\(place)/\", to: down/ }"])
      .replacing("job: stores", with: "job: stores-down")
    func requests(_ run: HaulRun) -> Int64 { run.totals["requests"].int ?? .max }
    for yaml in [up, down] {
      let run = try await bench.run(yaml, environment: Self.environment)
      #expect(run.status == 0 && run.totals["completed"].int == count, "\(run.errors)")
      #expect(requests(run) <= count + count / 20, "\(requests(run)) requests")
      let again = try await bench.run(yaml, environment: Self.environment)
      #expect(again.status == 0 && again.totals["up_to_date"].int == count, "\(again.errors)")
      #expect(again.transferred == 0 && requests(again) <= count / 100, "\(requests(again)) requests")
    }
    #expect(try Sums.tree(bench.job + "/down") == Sums.tree(bench.job + "/up"))
    // Another of the same size, one that is gone, and one that changed here.
    _ = try await store.boto(
      """
      s3.put_object(Bucket='bkt', Key='\(place)/f7', Body=b'x' * 1007)
      s3.delete_object(Bucket='bkt', Key='\(place)/f8')
      """)
    try bench.source("up/f9", size: 1009, seed: 999)
    let mended = try await bench.run(up, environment: Self.environment)
    #expect(mended.status == 0 && mended.totals["completed"].int == 3, "\(mended.errors)")
    #expect(mended.totals["up_to_date"].int == count - 3 && requests(mended) < 12)
    let sums = try await store.sums(place + "/")
    for (name, sum) in try Sums.tree(bench.job + "/up") {
      let key = place + "/" + (name.hasPrefix("./") ? String(name.dropFirst(2)) : name)
      #expect(sums[key] == sum, "\(name)")
    }
    let fetched = try await bench.run(down, environment: Self.environment)
    #expect(fetched.status == 0 && fetched.totals["completed"].int == 1, "f9 is another: \(fetched.errors)")
  }

  /// A bit that flips on its way up is caught, whatever is sent as a checksum, and sent again.
  @Test(arguments: Make.allCases, ["crc64nvme", "sha256", "none"])
  func flippedBit(_ make: Make, _ checksum: String) async throws {
    let (bench, store) = (try Bench(), try Store.shared(make))
    let proxy = try await StoreProxy(
      bench, store,
      [
        #"{"method": "PUT", "match": "/\#(place)/single", "do": "flip"}"#,
        #"{"method": "PUT", "match": "partNumber=2", "do": "flip"}"#,
      ])
    try bench.source("single", size: 100_000, seed: 1)
    try bench.source("parts", size: 2 * Self.part + 7, seed: 2)
    let run = try await bench.run(
      job(
        endpoint(store, "checksum: \(checksum)", through: proxy),
        [
          "{ id: single, upload: single, to: \"s3:\(place)/single\" }",
          "{ id: parts, upload: parts, to: \"s3:\(place)/parts\", needs: [single] }",
        ]),
      environment: Self.environment)
    #expect(run.status == 0 && run.faults == "", "\(run.errors)")
    let sums = try await store.sums(place + "/")
    for name in ["single", "parts"] {
      #expect(try sums["\(place)/\(name)"] == Sums.file(bench.job + "/" + name), "\(name)")
      #expect(checks(run[name]).contains(proof(make, checksum, isParts: name == "parts")), "\(run[name])")
    }
    let puts = proxy.visits.filter { $0.hasPrefix("PUT") }
    // rclone passes parts on as they come, and may have to be sent all of them again.
    #expect(make == .rclone || puts.count == 6, "each body once, and what was damaged once more: \(puts)")
  }

  /// The very first body that haul sends is damaged, and rclone can't take the part again: it has passed it on.
  @Test(arguments: Make.allCases)
  func firstPartDamaged(_ make: Make) async throws {
    let (bench, store) = (try Bench(), try Store.shared(make))
    let proxy = try await StoreProxy(
      bench, store, [#"{"method": "PUT", "match": "partNumber=1", "do": "flip"}"#])
    try bench.source("a", size: 2 * Self.part, seed: 2)
    let run = try await bench.run(
      job(endpoint(store, "checksum: none", through: proxy), ["{ id: a, upload: a, to: \"s3:\(place)\" }"]),
      environment: Self.environment)
    #expect(run.status == 0 && run.faults == "", "\(run.errors)")
    #expect(try await store.sums(place)[place] == Sums.file(bench.job + "/a"))
    let creations = proxy.visits.count { $0.hasPrefix("POST") && $0.contains("uploads=") }
    #expect(creations == (make == .rclone ? 2 : 1))
  }

  @Test(arguments: Make.allCases)
  func flippedBitForEver(_ make: Make) async throws {
    let (bench, store) = (try Bench(), try Store.shared(make))
    let proxy = try await StoreProxy(
      bench, store, [#"{"method": "PUT", "match": "/\#(place)/", "do": "flip", "times": 1000}"#])
    try bench.source("before", size: 100_000, seed: 1)
    try bench.source("single", size: 100_000, seed: 2)
    try bench.source("parts", size: Self.part + 7, seed: 3)
    let run = try await bench.run(
      job(
        endpoint(store, "checksum: none", through: proxy),
        [
          "{ id: before, upload: before, to: \"s3:\(place)-before\" }",
          "{ id: single, upload: single, to: \"s3:\(place)/single\", needs: [before] }",
          "{ id: parts, upload: parts, to: \"s3:\(place)/parts\", needs: [before] }",
        ]), environment: Self.environment)
    #expect(run.status == 1 && run.state("before") == "completed", "\(run.errors)")
    #expect(run.state("single") == "failed INTEGRITY_MISMATCH", "\(run.errors)")
    // rclone forgets an upload whose part it refused: that may be what is heard last.
    let ends = ["failed INTEGRITY_MISMATCH"] + (make == .rclone ? ["failed SESSION_EXPIRED"] : [])
    #expect(ends.contains(run.state("parts")), "\(run.errors)")
  }

  /// The server answers ranges of it with 200, or 206, or its URL can't be asked by HEAD.
  @Test(arguments: Make.allCases)
  func webDownload(_ make: Make) async throws {
    let (bench, store) = (try Bench(), try Store.shared(make))
    try bench.source("a", size: 3 * Self.part + 7)
    let url = try await store.boto(
      """
      s3.upload_file(sys.argv[1], 'bkt', '\(place)')
      print(s3.generate_presigned_url('get_object', Params={'Bucket': 'bkt', 'Key': '\(place)'}))
      """, [bench.job + "/a"]
    ).trimmingCharacters(in: .newlines)
    let yaml = job(
      endpoint(store),
      ["{ id: web, download: \(quoted(url)), to: web }", "{ id: s3, download: \"s3:\(place)\", to: s3 }"])
    let run = try await bench.run(yaml, environment: Self.environment)
    #expect(run.status == 0 && run.faults == "", "\(run.errors)")
    for name in ["web", "s3"] {
      #expect(try Sums.file(bench.job + "/" + name) == Sums.file(bench.job + "/a"), "\(name)")
      #expect(run[name]["chunks"]["total"].int == 4, "\(name)")
    }
    let again = try await bench.run(nil, environment: Self.environment)
    #expect(again.status == 0 && again.transferred == 0, "\(again.errors)")
  }

  /// A killed upload goes on with the parts that the store lists.
  @Test(arguments: Make.allCases)
  func killedUploadGoesOn(_ make: Make) async throws {
    let (bench, store) = (try Bench(), try Store.shared(make))
    let proxy = try await StoreProxy(
      bench, store, [#"{"method": "PUT", "match": "partNumber=3", "do": "hold", "times": 99}"#])
    try bench.source("a", size: 4 * Self.part)
    try bench.writeJob(
      job(
        endpoint(store, through: proxy),
        [
          "{ id: a, upload: a, to: \"s3:\(place)\", policy: { chunks_in_flight: 1 }, verify: required }"
        ]))
    let running = try bench.start(bench.runArguments(), environment: Self.environment)
    while !proxy.visits.contains(where: { $0.hasPrefix("held") }) {
      try #require(running.isAlive, "\(running.errors)")
      try await Task.sleep(for: .milliseconds(10))
    }
    running.signal(SIGKILL)
    try await running.wait()
    try proxy.set([])
    let run = try await bench.run(nil, environment: Self.environment)
    #expect(run.status == 0 && run.faults == "", "\(run.errors)")
    #expect(try await store.sums(place)[place] == Sums.file(bench.job + "/a"))
    for number in 1...2 { #expect(proxy.visits.count { $0.contains("partNumber=\(number)&") } == 1) }
  }

  /// The answer to an upload's creation never came, and haul was killed, or asked again: nothing stays open that is old
  /// enough, and what others have open stays as it is.
  @Test(
    arguments: Make.allCases.flatMap { make in
      (["run", "cancel", "alive"] + (make == .seaweedfs ? ["changed", "removed"] : [])).map { (make, $0) }
    })
  func noUploadIsLeftOpen(_ make: Make, manner: String) async throws {
    let (bench, store) = (try Bench(), try Store.shared(make))
    let proxy = try await StoreProxy(
      bench, store, [#"{"method": "POST", "match": "uploads=", "do": "gateway"}"#])
    let before = try await open(store, "print(create())").trimmingCharacters(in: .newlines)
    try bench.source("a", size: 2 * Self.part)
    let wait = manner == "alive" ? "10ms" : "60s"
    let yaml = job(endpoint(store, through: proxy), ["{ id: a, upload: a, to: \"s3:\(place)\" }"])
      .replacing("initial: 10ms, max: 50ms", with: "initial: \(wait), max: \(wait)")
    // What a stranger opened before differs from ours by its time alone.
    try await Task.sleep(for: .seconds(4))
    var strangers = [before]
    if manner == "alive" {
      let run = try await bench.run(yaml, environment: Self.environment)
      #expect(run.status == 0 && run.faults == "" && run.remarks == "", "\(run.errors)")
    } else {
      try bench.writeJob(yaml)
      let running = try bench.start(bench.runArguments(), environment: Self.environment)
      while !proxy.visits.contains(where: { $0.hasSuffix("uploads= 504") }) {
        try #require(running.isAlive, "\(running.errors)")
        try await Task.sleep(for: .milliseconds(10))
      }
      running.signal(SIGKILL)
      try await running.wait()
      // Others' uploads of this moment: one with a part, one of a key that begins alike.
      strangers += try await open(
        store, "id = create()\nsend(id)\nprint(id, create('-more'))"
      ).split(whereSeparator: \.isWhitespace).map(String.init)
      #expect(try await listed(store).count == 4)
      try letAnHourPass(bench, proxy)
      switch manner {
      case "cancel":
        let cancel = try await bench.haul(["cancel", "stores"], environment: Self.environment)
        #expect(cancel.status == 0 && !cancel.errors.contains("warning"), "\(cancel.errors)")
      case "removed":
        try bench.writeJob(
          job(endpoint(store, through: proxy), ["{ id: b, upload: a, to: \"s3:\(place)-b\" }"]))
        let run = try await bench.run(nil, environment: Self.environment)
        #expect(run.status == 0 && run.remarks == "", "\(run.errors)")
      default:
        if manner == "changed" { try bench.source("a", size: 2 * Self.part + 1, seed: 2) }
        let run = try await bench.run(nil, environment: Self.environment)
        #expect(run.status == 0 && run.faults == "" && run.remarks == "", "\(run.errors)")
        #expect(try await store.sums(place)[place] == Sums.file(bench.job + "/a"))
      }
    }
    if manner == "alive" {
      // It was asked for just now: a later run looks for it.
      try letAnHourPass(bench, proxy)
      let run = try await bench.run(nil, environment: Self.environment)
      #expect(run.status == 0 && run.remarks == "", "\(run.errors)")
    }
    #expect(try await Set(listed(store)) == Set(strangers), "\(proxy.visits)")
    #expect(
      try await bench.haul(["gc", "stores"], environment: Self.environment).output == "nothing to remove\n")
  }

  /// What was asked for, and what the proxy says is open, is an hour older from now on.
  private func letAnHourPass(_ bench: Bench, _ proxy: StoreProxy, _ rules: [String] = []) throws {
    _ = try Sums.shell(
      "sqlite3 plan.sqlite 'UPDATE session_intent SET asked_at = asked_at - 3600, last_asked_at = last_asked_at - 3600'",
      in: bench.state + "/stores")
    try proxy.set(rules + [#"{"method": "GET", "match": "uploads=", "do": "age", "times": 1000}"#])
  }

  /// haul killed once the store has answered as given.
  private func killed(_ bench: Bench, _ proxy: StoreProxy, after visit: String) async throws {
    let running = try bench.start(bench.runArguments(), environment: Self.environment)
    while !proxy.visits.contains(where: { $0.contains(visit) }) {
      try #require(running.isAlive, "\(running.errors)")
      try await Task.sleep(for: .milliseconds(10))
    }
    running.signal(SIGKILL)
    try await running.wait()
  }

  private static let lostCreation = #"{"method": "POST", "match": "uploads=", "do": "gateway"}"#

  /// Another client has opened an upload of the key in the same moment, and its first part is still under way.
  @Test(arguments: Make.allCases, ["run", "alive", "cancel"])
  func aStrangersUploadThatHasJustBegunGoesOn(_ make: Make, manner: String) async throws {
    let (bench, store) = (try Bench(), try Store.shared(make))
    let proxy = try await StoreProxy(bench, store, [Self.lostCreation])
    try bench.source("a", size: 2 * Self.part)
    let wait = manner == "alive" ? "2s" : "60s"
    try bench.writeJob(
      job(endpoint(store, through: proxy), ["{ id: a, upload: a, to: \"s3:\(place)\" }"])
        .replacing("initial: 10ms, max: 50ms", with: "initial: \(wait), max: \(wait)"))
    var stranger = ""
    if manner == "alive" {
      let running = try bench.start(bench.runArguments(), environment: Self.environment)
      while !proxy.visits.contains(where: { $0.hasSuffix("uploads= 504") }) {
        try await Task.sleep(for: .milliseconds(10))
      }
      stranger = try await open(store, "print(create())").trimmingCharacters(in: .newlines)
      #expect(try await running.wait().status == 0, "\(running.errors)")
    } else {
      try await killed(bench, proxy, after: "uploads= 504")
      stranger = try await open(store, "print(create())").trimmingCharacters(in: .newlines)
    }
    if manner == "cancel" {
      let cancel = try await bench.haul(["cancel", "stores"], environment: Self.environment)
      #expect(cancel.status == 0 && !cancel.errors.contains("warning"), "\(cancel.errors)")
    } else {
      let run = try await bench.run(nil, environment: Self.environment)
      #expect(run.status == 0 && run.remarks == "", "\(run.errors)")
    }
    let gc = try await bench.haul(["gc", "stores"], environment: Self.environment)
    #expect(gc.status == 0 && gc.output == "nothing to remove\n" && gc.errors.contains("not looked for yet"))
    let still = try await listed(store)
    #expect(still.contains(stranger) && still.count == 2, "\(proxy.visits)")
    // Its part has come: what is left is ours.
    _ = try await open(store, "send('\(stranger)')")
    try letAnHourPass(bench, proxy)
    let end = try await bench.haul(["gc", "stores"], environment: Self.environment)
    #expect(end.status == 0 && end.output.contains("removed session"), "\(end.output) \(end.errors)")
    #expect(try await listed(store) == [stranger])
  }

  /// The store lists nothing when the upload is tried again, and takes it all the same: what was asked for first is not
  /// forgotten over it.
  @Test func anEarlierCreationStaysOnRecord() async throws {
    let (bench, store) = (try Bench(), try Store.shared(.seaweedfs))
    let proxy = try await StoreProxy(bench, store, [Self.lostCreation])
    try bench.source("a", size: 2 * Self.part)
    try bench.writeJob(
      job(endpoint(store, through: proxy), ["{ id: a, upload: a, to: \"s3:\(place)\" }"])
        .replacing("initial: 10ms, max: 50ms", with: "initial: 60s, max: 60s"))
    try await killed(bench, proxy, after: "uploads= 504")
    try letAnHourPass(bench, proxy, [#"{"method": "GET", "match": "uploads=", "do": "gateway"}"#])
    let run = try await bench.run(nil, environment: Self.environment)
    #expect(run.status == 0 && run.faults == "", "\(run.errors)")
    #expect(run.remarks.contains("can't be known now"), "\(run.remarks)")
    let again = try await bench.run(nil, environment: Self.environment)
    #expect(again.status == 0 && again.remarks == "", "\(again.errors)")
    #expect(try await listed(store) == [], "\(proxy.visits)")
  }

  /// A creation was answered the second time: what the first has opened is ended with the transfer.
  @Test(arguments: ["cancel", "removed"])
  func endsBesideASession(_ manner: String) async throws {
    let (bench, store) = (try Bench(), try Store.shared(.seaweedfs))
    let proxy = try await StoreProxy(
      bench, store,
      [Self.lostCreation, #"{"method": "PUT", "match": "partNumber=2", "do": "hold", "times": 99}"#])
    try bench.source("a", size: 2 * Self.part)
    try bench.writeJob(
      job(endpoint(store, through: proxy), ["{ id: a, upload: a, to: \"s3:\(place)\" }"]))
    try await killed(bench, proxy, after: "held")
    #expect(try await listed(store).count == 2)
    try letAnHourPass(bench, proxy)
    if manner == "cancel" {
      let cancel = try await bench.haul(["cancel", "stores"], environment: Self.environment)
      #expect(cancel.status == 0 && !cancel.errors.contains("warning"), "\(cancel.errors)")
    } else {
      try bench.source("b", size: 10)
      try bench.writeJob(
        job(endpoint(store, through: proxy), ["{ id: b, upload: b, to: \"s3:\(place)-b\" }"]))
      let run = try await bench.run(nil, environment: Self.environment)
      #expect(run.status == 0, "\(run.errors)")
      #expect(run.remarks == "", "\(run.errors)")
    }
    #expect(try await listed(store) == [], "\(proxy.visits)")
    let gc = try await bench.haul(["gc", "stores"], environment: Self.environment)
    #expect(gc.status == 0 && gc.output == "nothing to remove\n", "\(gc.output) \(gc.errors)")
  }

  /// `gc` only says that it removed what it removed.
  @Test(arguments: ["refused", "none"]) func gcTellsWhatBecameOfIt(_ what: String) async throws {
    let (bench, store) = (try Bench(), try Store.shared(.seaweedfs))
    let proxy = try await StoreProxy(bench, store, [Self.lostCreation])
    try bench.source("a", size: 2 * Self.part)
    let run = try await bench.run(
      job(endpoint(store, through: proxy), ["{ id: a, upload: a, to: \"s3:\(place)\" }"]),
      environment: Self.environment)
    #expect(run.status == 0 && run.faults == "", "\(run.errors)")
    if what == "none" {
      for id in try await listed(store) {
        _ = try await open(
          store, "s3.abort_multipart_upload(Bucket='bkt', Key='\(place)', UploadId='\(id)')")
      }
    }
    let refusal = #"{"method": "GET", "match": "uploads=", "do": "refusal", "times": 9}"#
    try letAnHourPass(bench, proxy, what == "refused" ? [refusal] : [])
    let gc = try await bench.haul(["gc", "stores"], environment: Self.environment)
    #expect(gc.status == 0 && gc.output == "nothing to remove\n", "\(gc.output) \(gc.errors)")
    #expect(gc.errors.contains("AbortIncompleteMultipartUpload") == (what == "refused"), "\(gc.errors)")
    // Nobody is told twice.
    #expect(try await bench.haul(["gc", "stores"], environment: Self.environment).errors == "")
  }

  /// A store that does not list what is open is no worse than before, whatever it says instead.
  @Test func anUploadDoesNotWaitForTheList() async throws {
    let (bench, store) = (try Bench(), try Store.shared(.seaweedfs))
    let proxy = try await StoreProxy(
      bench, store,
      [
        #"{"method": "POST", "match": "uploads=", "do": "gateway"}"#,
        #"{"method": "GET", "match": "uploads=", "do": "gateway", "times": 1000}"#,
      ])
    try bench.source("a", size: 2 * Self.part)
    let run = try await bench.run(
      job(endpoint(store, through: proxy), ["{ id: a, upload: a, to: \"s3:\(place)\" }"]),
      environment: Self.environment)
    #expect(run.status == 0 && run.faults == "", "\(run.errors)")
    #expect(run.remarks == "", "\(run.remarks)")
    #expect(try await store.sums(place)[place] == Sums.file(bench.job + "/a"))
    #expect(try await listed(store).count == 1)
    // On record until the store can be asked.
    let refusing = #"{"method": "GET", "match": "uploads=", "do": "gateway", "times": 1000}"#
    try letAnHourPass(bench, proxy, [refusing])
    let failing = try await bench.haul(["gc", "stores"], environment: Self.environment)
    #expect(failing.status == 75, "\(failing.output) \(failing.errors)")
    try proxy.set([#"{"method": "GET", "match": "uploads=", "do": "age", "times": 1000}"#])
    let end = try await bench.haul(["gc", "stores"], environment: Self.environment)
    #expect(end.status == 0 && end.output.contains("removed session"), "\(end.output) \(end.errors)")
    #expect(try await listed(store) == [])
  }

  /// A script with `create(suffix)`, which opens an upload of this test's key, and `send(id)`, which sends a part to one.
  private func open(_ store: Store, _ script: String) async throws -> String {
    try await store.boto(
      """
      def create(suffix=''):
          return s3.create_multipart_upload(Bucket='bkt', Key='\(place)' + suffix)['UploadId']
      def send(id):
          s3.upload_part(Bucket='bkt', Key='\(place)', UploadId=id, PartNumber=1, Body=b'x' * (5 << 20))

      """ + script)
  }

  /// The ids of the uploads that are open for this test's keys.
  private func listed(_ store: Store) async throws -> [String] {
    try await store.boto(
      """
      for key in '\(place)', '\(place)-more':
          for one in s3.list_multipart_uploads(Bucket='bkt', Prefix=key).get('Uploads', []):
              if one['Key'] == key: print(one['UploadId'])
      """
    ).split(separator: "\n").map(String.init)
  }

  /// Each answer is lost once, with nothing there that may be replaced.
  @Test(arguments: Make.allCases, ["keep", "fail"])
  func lostAnswers(_ make: Make, _ rule: String) async throws {
    let (bench, store) = (try Bench(), try Store.shared(make))
    let proxy = try await StoreProxy(
      bench, store,
      [
        #"{"method": "PUT", "match": "/\#(place)/single", "do": "drop"}"#,
        #"{"method": "PUT", "match": "partNumber=2", "do": "drop"}"#,
        #"{"method": "POST", "match": "uploadId=", "do": "drop"}"#,
      ])
    try bench.source("single", size: 100_000, seed: 1)
    try bench.source("parts", size: 2 * Self.part + 7, seed: 2)
    let run = try await bench.run(
      job(
        endpoint(store, through: proxy),
        ["single", "parts"].map {
          "{ id: \($0), upload: \($0), to: \"s3:\(place)/\($0)\", if_exists: \(rule), verify: required }"
        }), environment: Self.environment)
    #expect(run.status == 0 && run.faults == "", "\(run.errors)")
    #expect(run.state("single") == "completed" && run.state("parts") == "completed", "\(run.errors)")
    #expect(proxy.visits.count { $0.hasSuffix(" 0") } == 3)
    let sums = try await store.sums(place + "/")
    for name in ["single", "parts"] {
      #expect(try sums["\(place)/\(name)"] == Sums.file(bench.job + "/" + name), "\(name)")
    }
  }

  /// Another client's object comes to the key while the upload is under way.
  @Test(arguments: Make.allCases, ["keep", "fail"])
  func anotherObjectComesMeanwhile(_ make: Make, _ rule: String) async throws {
    let (bench, store) = (try Bench(), try Store.shared(make))
    let proxy = try await StoreProxy(
      bench, store,
      [#"{"method": "PUT", "match": "partNumber=2", "do": "intrude", "key": "\#(place)"}"#])
    try bench.source("a", size: 2 * Self.part)
    let run = try await bench.run(
      job(
        endpoint(store, through: proxy), ["{ id: a, upload: a, to: \"s3:\(place)\", if_exists: \(rule) }"]),
      environment: Self.environment)
    #expect(run.faults == "")
    #expect(
      run.state("a") == (rule == "keep" ? "skipped exists" : "failed DESTINATION_EXISTS"), "\(run.errors)")
    let body = try await store.boto(
      "print(s3.get_object(Bucket='bkt', Key='\(place)')['Body'].read().decode())")
    #expect(body == "another's\n")
  }

  /// The key gets another object in the middle, twice: the version that was begun with is fetched to its end.
  @Test func theVersionBegunWithIsFetchedOn() async throws {
    let (bench, store) = (try Bench(), try Store.shared(.seaweedfs))
    let bucket = "v" + place
    try bench.source("a", size: 4 * Self.part)
    let version = try await store.boto(
      """
      s3.create_bucket(Bucket='\(bucket)')
      s3.put_bucket_versioning(Bucket='\(bucket)', VersioningConfiguration={'Status': 'Enabled'})
      print(s3.put_object(Bucket='\(bucket)', Key='k', Body=open(sys.argv[1], 'rb').read())['VersionId'])
      """, [bench.job + "/a"]
    ).trimmingCharacters(in: .newlines)
    let proxy = try await StoreProxy(
      bench, store,
      [
        #"{"method": "GET", "skip": 1, "times": 2, "do": "intrude", "bucket": "\#(bucket)", "key": "k"}"#
      ])
    let yaml = job(
      endpoint(store, through: proxy, bucket: bucket),
      ["{ id: a, download: \"s3:k\", to: b, policy: { chunks_in_flight: 1 } }"])
    let run = try await bench.run(yaml, environment: Self.environment)
    #expect(run.status == 0 && run.faults == "", "\(run.errors)")
    #expect(try Sums.file(bench.job + "/b") == Sums.file(bench.job + "/a"))
    #expect(run["a"]["version"].string == version && run["a"]["bytes"]["discarded"].int == 0)
    #expect(proxy.visits.contains { $0.contains("versionId=\(version)") })
    // The next run sees that there is a newer one.
    let again = try await bench.run(nil, environment: Self.environment)
    #expect(again.state("a") == "completed" && again["a"]["version"].string != version, "\(again.errors)")
    let body = FileManager.default.contents(atPath: bench.job + "/b") ?? Data()
    #expect(body == Data("another's".utf8))
  }

  /// A HEAD says nothing of the reason.
  @Test(arguments: Make.allCases)
  func downloadsThatAreRefusedSayWhy(_ make: Make) async throws {
    let (bench, store) = (try Bench(), try Store.shared(make))
    _ = try await store.boto("s3.put_object(Bucket='bkt', Key='\(place)', Body=b'x' * 1000)")
    let line = ["{ id: a, download: \"s3:\(place)\", to: a }"]
    let wrong = try await bench.run(
      job(endpoint(store), line),
      environment: Self.environment.merging(["AWS_SECRET_ACCESS_KEY": "wrong"]) { $1 })
    #expect(wrong.status == 1 && wrong.state("a") == "failed UNAUTHORIZED", "\(wrong.errors)")
    #expect(wrong.errors.contains("SignatureDoesNotMatch") && !wrong.errors.contains("are valid"))
    let missing = try await bench.run(
      job(endpoint(store, bucket: "nobucket"), line), ["--new-run"], environment: Self.environment)
    #expect(missing.status == 1 && missing.state("a") == "failed NOT_FOUND", "\(missing.errors)")
    #expect(missing.errors.contains("NoSuchBucket"), "\(missing.errors)")
    // Keys that were rotated are had anew, once.
    func keys(_ secret: String) -> String {
      #"{"Version": 1, "AccessKeyId": "\#(Store.id)", "SecretAccessKey": "\#(secret)"}"#
    }
    let old = try bench.scratch.write("old.json", keys("rotated"))
    let new = try bench.scratch.write("new.json", keys(Store.secret))
    let script = try bench.scratch.write(
      "give.sh", "if [ -e used ]; then cat \(new); else touch used; cat \(old); fi")
    let renewed = try await bench.run(
      job(endpoint(store, auth: "{ aws: { command: [sh, \(quoted(script))] } }"), line), ["--new-run"])
    #expect(renewed.status == 0 && renewed.state("a") == "completed", "\(renewed.errors)")
  }

  /// A digest in the manifest is enough for `verify: required`, and a wrong one is a failure.
  @Test(arguments: Make.allCases)
  func requiredWithExpect(_ make: Make) async throws {
    let (bench, store) = (try Bench(), try Store.shared(make))
    try bench.source("a", size: Self.part + 7)
    let sum = try #require(try Sums.file(bench.job + "/a"))
    let run = try await bench.run(
      job(
        endpoint(store),
        [
          "{ id: a, upload: a, to: \"s3:\(place)/a\", verify: required, expect: { sha256: \(sum) } }",
          "{ id: b, upload: a, to: \"s3:\(place)/b\", verify: size }",
        ]), environment: Self.environment)
    #expect(run.status == 0 && run.faults == "", "\(run.errors)")
    #expect(checks(run["a"]).isSuperset(of: ["sha256 manifest match"]))
    #expect(checks(run["b"]) == ["size server match"])
  }

  /// Keys that come in every shape, up one by one and down by their prefix; none of them warns.
  @Test(arguments: Make.allCases)
  func keysOfEveryShape(_ make: Make) async throws {
    let (bench, store) = (try Bench(), try Store.shared(make))
    let names = [
      "a b", "a+b", "a%20b", "ä/ö ü", "&<>'\"", "x?y=1&z#f", "=", "~", "a,b;c", "日本/語", "🎉", "(1) [2] {3}",
      "%", "a:b@c", "$x", "-dash", ".hidden", String(repeating: "n", count: 200),
    ]
    for (number, name) in names.enumerated() {
      try bench.source("up/\(name)", size: number * 100, seed: UInt64(number + 1))
    }
    let run = try await bench.run(
      job(
        endpoint(store),
        [
          "{ id: up, upload: \"up/**\", to: \"s3:\(place)/\" }"
        ]), environment: Self.environment)
    #expect(run.status == 0 && run.faults == "", "\(run.errors)")
    let down = try await bench.run(
      job(endpoint(store), ["{ id: down, download: \"s3:\(place)/\", to: down/ }"]),
      environment: Self.environment)
    #expect(down.status == 0 && down.faults == "" && down.remarks == "", "\(down.errors)")
    for name in names {
      #expect(
        try Sums.file(bench.job + "/down/" + name) == Sums.file(bench.job + "/up/" + name), "\(name)")
    }
  }

  /// What boto3 sends by default now.
  @Test(arguments: [Make.seaweedfs, .rclone])
  func objectsWithCRC32(_ make: Make) async throws {
    let (bench, store) = (try Bench(), try Store.shared(make))
    _ = try await store.boto(
      """
      s3.put_object(Bucket='bkt', Key='\(place)/good', Body=b'x' * 1000, ChecksumAlgorithm='CRC32')
      """)
    let run = try await bench.run(
      job(
        endpoint(store), ["{ id: a, download: \"s3:\(place)/good\", to: a, verify: required }"]),
      environment: Self.environment)
    #expect(run.status == 0 && checks(run["a"]).contains("crc32 server match"), "\(run.errors)")
  }
}
