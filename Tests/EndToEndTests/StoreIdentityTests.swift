import Foundation
import TestSupport
import Testing

/// Progress belongs to a store: another application, bucket, scope, route or parameter is another one, whatever the URL.
@Suite(.turns)
struct StoreIdentityTests {
  private static let size = (2 << 20) + 7

  private func kii(_ url: String, _ endpoint: String) -> String {
    """
    version: 1
    job: store
    endpoints: { kii: { type: kii, url: "\(url)/api", app_key: { command: [echo, k3y-of-the-app] }, \(endpoint) } }
    policies: { p: { retry: { attempts: 2, initial: 10ms } } }
    defaults: { policy: p, chunk_size: 256KiB, refresh: never }
    transfers: [{ id: one, upload: up.bin, to: "kii:one" }]
    """
  }

  @Test(arguments: [
    ("app_id: app, bucket: other", "/api/apps/app/buckets/other/"),
    ("app_id: second, bucket: box", "/api/apps/second/buckets/box/"),
    ("app_id: app, bucket: box, scope: \"user:me\"", "/api/apps/app/users/me/buckets/box/"),
  ])
  func anotherKiiStoreIsAsked(_ endpoint: String, _ path: String) async throws {
    let bench = try Bench()
    let fake = try await StrictFake(bench, .kii)
    try bench.source("up.bin", size: Self.size)
    try bench.serve("one", size: 10)
    let first = try await bench.run(kii(fake.url, "app_id: app, bucket: box"))
    #expect(first.status == 0, "\(first.errors)")
    let same = try await bench.run(kii(fake.url, "app_id: app, bucket: box"))
    #expect(same.state("one") == "up_to_date", "\(same.errors)")
    let other = try await bench.run(kii(fake.url, endpoint))
    #expect(other.state("one").hasPrefix("failed NOT_FOUND"), "\(other.errors)")
    #expect(fake.log().contains { $0["path"].string?.hasPrefix(path) == true })
  }

  /// An upload under way belongs to its store: it is canceled there, and none of it is taken for the new one's.
  @Test func leftSessionsEndWhereTheyBegan() async throws {
    let bench = try Bench()
    let fake = try await StrictFake(bench, .kii, options: [#""rate": 500000"#])
    try bench.source("up.bin", size: Self.size)
    try bench.serve("one", size: 10)
    try bench.writeJob(kii(fake.url, "app_id: app, bucket: box"))
    let stopped = try await Midway.stop(bench, after: 2, of: ["one"])
    #expect(stopped["one"]["session"].string == "open", "\(stopped.errors)")
    // The source went elsewhere as well: a session would go on with it, were it the same store's.
    _ = try Sums.shell("mv up.bin moved.bin", in: bench.job)
    let moved = kii(fake.url, "app_id: app, bucket: other").replacingOccurrences(
      of: "up.bin", with: "moved.bin")
    let other = try await bench.run(moved)
    #expect(fake.count("POST", "/cancelled", status: 204) == 1, "\(other.errors)")
    let cancels = fake.log().filter { $0["path"].string?.hasSuffix("/cancelled") == true }
    #expect(cancels.allSatisfy { $0["path"].string?.hasPrefix("/api/apps/app/buckets/box/") == true })
    #expect(
      !fake.log().contains { $0["method"].string == "PUT" && $0["path"].string?.contains("/other/") == true })
  }

  private func presigned(_ server: PresignedServer, _ more: String) -> String {
    """
    version: 1
    job: store
    endpoints: { api: \(PresignedTests.endpoint(server, more)) }
    defaults: { chunk_size: 64KiB, refresh: never }
    transfers: [{ id: one, upload: up.bin, to: "api:up.bin" }]
    """
  }

  @Test(arguments: [
    ", params: { album: winter }", ", params: { album: summer }, complete: \"URL/api/complete\"",
  ])
  func otherParametersAreAnotherStore(_ more: String) async throws {
    let bench = try Bench()
    let server = try await PresignedServer(bench, token: PresignedTests.token, options: "\"partSize\": 65536")
    try bench.source("up.bin", size: 100_000)
    let environment = ["TOKEN": PresignedTests.token]
    let summer = presigned(server, ", params: { album: summer }")
    #expect(try await bench.run(summer, environment: environment).status == 0)
    #expect(try await bench.run(summer, environment: environment).state("one") == "up_to_date")
    let more = more.replacingOccurrences(of: "URL", with: server.url)
    let other = try await bench.run(presigned(server, more), environment: environment)
    #expect(other.state("one") == "completed" && other.transferred == 100_000, "\(other.errors)")
    #expect(server.log().count { $0["what"].string == "start" } == 2)
  }

  /// A plan of haul 0.1 knew no more than type and URL: what it completed is not sent again, unless the store may be
  /// another one.
  @Test(arguments: [true, false]) func plansOfTheVersionBefore(_ isSame: Bool) async throws {
    let bench = try Bench()
    let server = try await PresignedServer(bench, token: PresignedTests.token, options: "\"partSize\": 65536")
    try bench.source("up.bin", size: 100_000)
    let environment = ["TOKEN": PresignedTests.token]
    #expect(
      try await bench.run(presigned(server, ", params: { album: summer }"), environment: environment).status
        == 0)
    // As 0.1 wrote it: the first eight bytes of the SHA-256 of the parts with NULs between them.
    _ = try Sums.shell(
      """
      id=$(printf 'upload\\0up.bin\\0api:up.bin\\0presigned\\0%s' '\(server.url)/api' | sha256sum | cut -c1-16)
      sqlite3 plan.sqlite "UPDATE transfer SET identity = x'$id'; DELETE FROM meta WHERE name = 'identity_form'"
      """, in: bench.state + "/store")
    let album = isSame ? "summer" : "winter"
    let run = try await bench.run(
      presigned(server, ", params: { album: \(album) }"), environment: environment)
    #expect(run.state("one") == (isSame ? "up_to_date" : "completed"), "\(run.errors)")
    #expect(run.transferred == (isSame ? 0 : 100_000))
    let form = try Sums.shell(
      "sqlite3 plan.sqlite \"SELECT value FROM meta WHERE name = 'identity_form'\"",
      in: bench.state + "/store")
    #expect(form == "2\n")
    let next = try await bench.run(nil, environment: environment)
    #expect(next.state("one") == "up_to_date", "\(next.errors)")
  }
}
