import Foundation
import TestSupport
import Testing

/// Listings of prefixes while a job is compiled.
@Suite(.turns)
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

  /// A plan says of a listed file what its listing says of it.
  @Test func aListingTellsWhatHasGrown() async throws {
    let bench = try Bench()
    func rules(_ words: String, etag: String) -> [WordedServer.Rule] {
      [
        .init("p/k1", headers: ["ETag": etag], body: words),
        .init("p/k", headers: ["ETag": "\"same\""], body: "abc"),
        .init(
          "",
          body: Self.page(0..<3, of: 3).replacing(
            "k1</Key><Size>3<", with: "k1</Key><Size>\(words.utf8.count)<")),
      ]
    }
    let server = try await WordedServer(bench, rules("abc", etag: "\"1\""))
    let run = try await bench.run(
      """
      version: 1
      job: grown
      endpoints: { store: { type: s3, url: \(quoted(server.url)), bucket: bkt, auth: none } }
      transfers:
        - { id: all, download: "store:p/", to: out/ }

      """)
    #expect(run.status == 0 && run.totals["completed"].int == 3, "\(run.errors)")
    try server.set(rules("what has grown", etag: "\"2\""))
    let plan = try JSON.parse(try await bench.haul(["plan", "job.yaml", "--json"]).output)
    let lines = plan["transfers"].array
    #expect(lines.map { $0["action"].string } == ["up_to_date", "transfer", "up_to_date"], "\(plan)")
    #expect(lines[1]["change"].string == "changed" && lines[1]["size"].int == 14, "\(plan)")
    let text = try await bench.haul(["plan", "job.yaml"])
    #expect(text.output.contains("14 B to move"), "\(text.output)")
    let again = try await bench.run(nil)
    #expect(again.totals["completed"].int == 1 && again.totals["up_to_date"].int == 2, "\(again.errors)")
  }

  /// A store that is down, or refuses, keeps no other from being refreshed, and what is on record of it stays.
  @Test(arguments: [(503, 75, "incomplete"), (403, 66, "failed")])
  func aStoreThatIsDown(_ answer: Int, _ status: Int32, _ outcome: String) async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.serve("a.bin", size: 1000)
    let page = WordedServer.Rule("", body: Self.page(0..<3, of: 3))
    let server = try await WordedServer(bench, [page])
    func job(_ url: String, needs: String = "") -> String {
      """
      version: 1
      job: down
      endpoints:
        store: { type: s3, url: \(quoted(url)), bucket: bkt, auth: none }
        depot: \(depot.endpoint)
      defaults: { policy: { retry: { attempts: 2, initial: 10ms, max: 20ms } } }
      transfers:
        - { id: all, download: "store:p/", to: out/ }
        - { id: too, download: "store:p/", to: out2/ }
        - { id: a, download: "depot:a.bin", to: a.bin\(needs) }

      """
    }
    let first = try await bench.run(job(server.url))
    #expect(first.transfers.count == 7 && first.state("a") == "completed", "\(first.errors)")
    try bench.serve("a.bin", size: 2000)
    try server.set([WordedServer.Rule("list-type", status: answer), page])
    let down = try await bench.run(job(server.url))
    #expect(down.status == status && down.outcome == outcome && down.faults == "", "\(down.errors)")
    #expect(down.transfers.count == 7 && down.state("a") == "completed")
    #expect(down["a"]["bytes"]["transferred"].int == 2000)
    for id in ["all", "too"] {
      #expect(down.errors.contains("`\(id)` could not be listed ("), "\(down.errors)")
    }
    let plan = try await bench.haul(["plan", "job.yaml"])
    #expect(
      plan.status == (status == 75 ? 0 : status) && plan.output.contains("up to date"), "\(plan.errors)")
    // What waits for it can't go on without it.
    let needy = try await bench.run(job(server.url, needs: ", needs: [all]"))
    #expect(needy.status == status && needy.outcome == outcome && needy.transfers.isEmpty)
    // Nor is there anything to do where it is all there is.
    let other = try Bench()
    let only = try await other.run(job(server.url).replacing(#/ +- \{ id: a,.*\n/#, with: ""))
    #expect(only.status == status, "\(only.errors)")
  }

  /// Another account may see other names under one URL: each is listed by itself, and what one account names twice once.
  @Test func accountsOfOneStore() async throws {
    let bench = try Bench()
    let server = try await WordedServer(bench, [.init("", body: Self.page(0..<2, of: 2))])
    func endpoint(_ auth: String) -> String {
      "{ type: s3, url: \(quoted(server.url)), bucket: bkt, auth: \(auth) }"
    }
    try bench.writeJob(
      """
      version: 1
      job: accounts
      endpoints:
        open: \(endpoint("none"))
        own: \(endpoint("{ aws: { access_key_id: A, secret_access_key: { env: KEY } } }"))
      transfers:
        - { id: a, download: "open:p/", to: a/ }
        - { id: b, download: "own:p/", to: b/ }
        - { id: c, download: "own:p/", to: c/ }
        - { id: d, download: "own:p/", to: d/, headers: { X-As: other } }

      """)
    let plan = try await bench.haul(["plan", "job.yaml"], environment: ["KEY": "k"])
    #expect(plan.status == 0 && plan.output.contains("d/k1"), "\(plan.errors)")
    #expect(server.log().count == 3)
  }

  /// What was listed beside a prefix that is refused is another day's once that is mended.
  @Test func aRefusalForgetsWhatWasListed() async throws {
    let bench = try Bench()
    func rules(_ count: Int, refuses: Bool) -> [WordedServer.Rule] {
      [
        .init("prefix=q", status: refuses ? 403 : 200, body: refuses ? "" : Self.page(0..<0, of: 0)),
        .init("", body: Self.page(0..<count, of: count)),
      ]
    }
    let server = try await WordedServer(bench, rules(2, refuses: false))
    let job = """
      version: 1
      job: refused
      endpoints: { store: { type: s3, url: \(quoted(server.url)), bucket: bkt, auth: none } }
      transfers:
        - { id: all, download: "store:p/", to: out/ }
        - { id: more, download: "store:q/", to: more/, if_empty: warn }
        - { id: last, download: "store:p/k0", to: last, needs: [more] }

      """
    #expect(try await bench.run(job).transfers.count == 3, "two of the prefix, and the last")
    try server.set(rules(2, refuses: true))
    #expect(try await bench.run(nil).status == 66)
    try server.set(rules(3, refuses: false))
    let mended = try await bench.run(nil)
    #expect(mended.transfers.count == 4, "\(mended.errors)")
  }

  /// A long prefix is listed folder by folder at the same time, and a listing that was killed goes on where it was: no page
  /// is asked for again but those that were on their way.
  @Test func aKilledListingGoesOn() async throws {
    let bench = try Bench()
    let s3 = try await StrictS3(bench)
    var names = (0..<30).map { "a\($0)" }
    for folder in ["b", "c d", "ä"] { names += (0..<25).map { "in/\(folder)/\($0)" } }
    names += ["in/z"]
    for name in names { try bench.source("up/" + name, size: 1) }
    func job(_ name: String, _ transfer: String) -> String {
      """
      version: 1
      job: \(name)
      endpoints: { s3: \(s3.endpoint()) }
      transfers: [{ id: all, \(transfer) }]
      """
    }
    let up = try await bench.run(
      job("up", "upload: \"up/**\", to: \"s3:\""), environment: StrictS3.environment)
    try #require(up.status == 0, "\(up.errors)")
    try s3.set(["\"page\": 4", "\"pause\": 0.2"])
    try bench.writeJob(job("down", "download: \"s3:in/\", to: down/"))
    func lists() -> [S3Visit] { s3.log().filter { $0.op == "list" && $0.status == 200 } }
    let before = lists().count
    for kill in 1...2 {
      let running = try bench.start(bench.runArguments(), environment: StrictS3.environment)
      let wanted = before + kill * 9
      try await RemoteKills.wait(while: { lists().count < wanted && running.isAlive })
      running.signal(SIGKILL)
      #expect(try await running.wait().status == 128 + SIGKILL, "it was over before it was killed")
    }
    let killed = lists().count
    try s3.set(["\"page\": 4"])
    let run = try await bench.run(nil, environment: StrictS3.environment)
    #expect(run.status == 0 && run.totals["completed"].int == 76, "\(run.errors)")
    #expect(try Sums.tree(bench.job + "/down").count == 76)
    // Four pages before it is divided, some 25 of its folders and the looks for folders, and at each kill those that were on
    // their way, eight at most.
    #expect(
      lists().count - before <= 34 + 2 * 8,
      "\(lists().count - before) requests, \(killed - before) of them killed")
    let paths = lists().dropFirst(before).compactMap { $0.line["path"].string }
    let looks = paths.filter { $0.contains("delimiter=") && $0.contains("prefix=in%2F") }
    let below = looks.filter { !$0.hasSuffix("prefix=in%2F") }
    #expect(!looks.isEmpty && Set(below).count == below.count, "a folder is looked at once: \(looks)")
    #expect(lists().contains { $0.line["path"].string?.contains("start-after=") == true })
    #expect(lists().contains { $0.line["path"].string?.contains("prefix=in%2Fc%20d%2F") == true })
    // What is complete is not believed the next time.
    try s3.set([])
    try bench.source("up/in/new", size: 1)
    _ = try await bench.run(
      job("up2", "upload: up/in/new, to: \"s3:in/new\""), environment: StrictS3.environment)
    let again = try await bench.run(
      job("down", "download: \"s3:in/\", to: down/"), environment: StrictS3.environment)
    #expect(again.totals["completed"].int == 1 && again.totals["up_to_date"].int == 76, "\(again.errors)")
  }

  /// What the first run was told before the store failed is not asked for again; a run that was told nothing leaves no state.
  @Test func aListingThatFailedGoesOn() async throws {
    let bench = try Bench()
    let server = try await WordedServer(bench, [.init("", status: 500)])
    try bench.writeJob(
      """
      version: 1
      job: pages
      policies: { once: { retry: { attempts: 1 } } }
      endpoints: { store: { type: s3, url: \(quoted(server.url)), bucket: bkt, auth: none } }
      defaults: { policy: once }
      transfers:
        - { id: all, download: "store:p/", to: out/ }
      """)
    let nothing = try await bench.haul(bench.runArguments())
    #expect(nothing.status == 75, "\(nothing.errors)")
    #expect(try await bench.haul(["status", "pages"]).status == 66, "there is state of it")
    try server.set([
      .init("continuation-token", status: 500), .init("", body: Self.page(100..<110, of: 120)),
    ])
    let cut = try await bench.haul(bench.runArguments())
    #expect(cut.status == 75 && cut.errors.contains("SERVER_ERROR"), "\(cut.errors)")
    let before = server.log().count
    try server.set([
      .init("start-after=p%2Fk109", body: Self.page(110..<120, of: 120)), .init("", status: 404),
    ])
    let plan = try await bench.haul(["plan", "job.yaml", "--json"])
    #expect(plan.status == 0, "\(plan.errors)")
    #expect(plan.output.contains("p/k100") && plan.output.contains("p/k119"), "\(plan.output.suffix(300))")
    #expect(server.log().count == before + 1)
  }

  private static func page(_ keys: Range<Int>, of count: Int) -> String {
    let next =
      keys.upperBound < count ? "<NextContinuationToken>t\(keys.upperBound).</NextContinuationToken>" : ""
    let items = keys.map { "<Contents><Key>p/k\($0)</Key><Size>3</Size></Contents>" }.joined()
    return
      "<ListBucketResult><IsTruncated>\(keys.upperBound < count)</IsTruncated>\(next)\(items)</ListBucketResult>"
  }
}
