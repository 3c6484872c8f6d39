import Endpoints
import JobModel
import Locks
import Testing

/// Credentials, redirects, headers: what surrounds every request.
struct RequestTests {
  private let content = pattern(2500)
  private func server() -> FakeServer { FakeServer { $0.files["a"] = content } }
  private let auth = Authentication.bearer(.environment("T"))

  private func run(
    _ rig: Rig, from source: String = "web:a", endpoint: Authentication = .none,
    _ instead: @escaping @Sendable (Sent) -> Reply?
  ) async throws -> Rig.Outcome {
    let server = server()
    return try await rig.run(from: source, to: "a", endpoint: endpoint) { sent in
      instead(sent) ?? server.response(sent)
    }
  }

  @Test func aRefusedCredentialIsRenewedOnce() async throws {
    let rig = try Rig(.download) { $0.policy.chunksInFlight = 1 }
    let outcome = try await run(rig, endpoint: auth) { sent in
      sent.headers["Authorization"] == "Bearer token1" ? .status(401) : nil
    }
    #expect(outcome.state == .completed && rig.read("a") == content)
    #expect(
      outcome.sent.map { $0.headers["Authorization"] ?? "" }.prefix(2) == ["Bearer token1", "Bearer token2"])
    let refused = try Rig(.download)
    let failed = try await run(refused, endpoint: auth) { _ in .status(401) }
    #expect(failed.code == .unauthorized && failed.state == .failed && failed.sent.count == 2)
  }

  @Test func redirectsAreFollowedWithoutSecretsToOthers() async throws {
    let rig = try Rig(.download) {
      $0.policy.chunksInFlight = 1
      $0.headers = [
        HeaderSetting(name: "X-Open", value: .text("1")),
        HeaderSetting(name: "X-Secret", value: .secret(.environment("S"))),
      ]
    }
    let outcome = try await run(rig, endpoint: auth) { sent in
      switch (sent.url.host, sent.path) {
      case ("h", "/f/a"): .status(302, ["Location": "/elsewhere"])
      case ("h", "/elsewhere"): .status(307, ["Location": "https://other/f/a?sig=1"])
      default: nil
      }
    }
    #expect(outcome.state == .completed && rig.read("a") == content)
    let (own, other) = (
      outcome.sent.filter { $0.url.host == "h" }, outcome.sent.filter { $0.url.host == "other" }
    )
    #expect(
      !own.isEmpty && own.allSatisfy { $0.headers["Authorization"] != nil && $0.headers["X-Secret"] != nil })
    #expect(
      !other.isEmpty
        && other.allSatisfy { $0.headers["Authorization"] == nil && $0.headers["X-Secret"] == nil })
    #expect(other.allSatisfy { $0.headers["X-Open"] == "1" && $0.headers["Range"] != nil })
  }

  /// A signed URL that ended between the redirect and its request is not the last word: it is asked for anew, once.
  @Test(arguments: [true, false]) func aSignedURLBehindARedirectIsRefused(once: Bool) async throws {
    let rig = try Rig(.download) { $0.policy.chunksInFlight = 1 }
    let outcome = try await run(rig, endpoint: auth) { sent in
      if sent.url.host == "h" { return .status(302, ["Location": "https://other/f/a?sig=\(sent.number)"]) }
      return once && sent.number != 2 ? nil : .status(403)
    }
    #expect(outcome.sent.prefix(4).map { $0.url.host } == ["h", "other", "h", "other"])
    #expect(outcome.sent.allSatisfy { ($0.headers["Authorization"] != nil) == ($0.url.host == "h") })
    guard once else { return #expect(outcome.code == .forbidden && outcome.sent.count == 4) }
    #expect(outcome.state == .completed && rig.read("a") == content)
  }

  @Test func anotherPortIsAnotherOrigin() async throws {
    let rig = try Rig(.download)
    let outcome = try await run(rig, endpoint: auth) { sent in
      sent.url.port == 80 ? .status(301, ["Location": "http://h:8080/f/a"]) : nil
    }
    #expect(outcome.state == .completed)
    #expect(outcome.sent.filter { $0.url.port == 8080 }.allSatisfy { $0.headers["Authorization"] == nil })
  }

  @Test func redirectsThatAreRefused() async throws {
    for location in ["http://h/f/a", "ftp://h/f/a", "http://user@h/f/a"] {
      let rig = try Rig(.download)
      let outcome = try await run(rig, from: "https://h/f/a") { _ in .status(302, ["Location": location]) }
      #expect(outcome.code == .policyDenied && outcome.sent.count == 1, "\(location)")
    }
    let rig = try Rig(.download) { $0.policy.redirects = 2 }
    let outcome = try await run(rig) { _ in .status(302, ["Location": "/f/a"]) }
    #expect(outcome.code == .policyDenied && outcome.sent.count == 3)
    let bare = try Rig(.download)
    #expect(try await run(bare) { _ in .status(302) }.code == .protocolViolation)
  }

  @Test func anUploadIsSentAgainToWhereItIsSentOn() async throws {
    let rig = try Rig(.upload)
    try rig.write("src", content)
    let bodies = try await rig.run(from: "src", to: "web:a", endpoint: auth) { sent in
      if sent.method == "HEAD" { return .status(405) }
      if sent.headers["Authorization"] == "Bearer token1" { return .status(401) }
      return sent.path == "/f/a" ? .status(307, ["Location": "/g/a"]) : .status(201)
    }
    #expect(bodies.state == .completed)
    let puts = bodies.sent.filter { $0.method == "PUT" }
    #expect(puts.count == 3 && puts.allSatisfy { $0.body == content })
  }

  /// A server that takes an upload and does not have it has not stored it.
  @Test func anUploadThatIsNotThereIsNotComplete() async throws {
    let rig = try Rig(.upload)
    try rig.write("src", content)
    let lost = try await rig.run(from: "src", to: "web:a", endpoint: auth) { sent in
      .status(sent.method == "HEAD" ? 404 : 201)
    }
    #expect(lost.state == .failed && lost.code == .notFound)
  }

  /// A server that knows of it a moment later has it (`rclone serve webdav`, behind a MOVE).
  @Test func anUploadThatIsSeenLateIsComplete() async throws {
    let (rig, length) = (try Rig(.upload), String(content.count))
    try rig.write("src", content)
    let (puts, looks) = (Locked(0), Locked(0))
    let late = try await rig.run(from: "src", to: "web:a", endpoint: auth) { sent in
      guard sent.method == "HEAD" else {
        puts.withLock { $0 += 1 }
        return .status(201)
      }
      guard puts.withLock({ $0 > 0 }) else { return .status(404) }
      let isFirst = looks.withLock { count in
        count += 1
        return count == 1
      }
      return isFirst ? .status(404) : .status(200, ["Content-Length": length])
    }
    #expect(late.state == .completed && puts.withLock { $0 } == 1 && looks.withLock { $0 } == 2)
  }

  /// Where no size is told, none is compared, and the report says so.
  @Test func anUploadWhoseSizeIsNotTold() async throws {
    let (rig, isSent) = (try Rig(.upload), Locked(false))
    try rig.write("src", content)
    let outcome = try await rig.run(from: "src", to: "web:a", endpoint: auth) { sent in
      guard sent.method == "HEAD" else {
        isSent.withLock { $0 = true }
        return .status(201)
      }
      return .status(isSent.withLock { $0 } ? 200 : 404)
    }
    #expect(outcome.state == .completed)
    #expect(outcome.progress.verification.contains(Verification("size", .server, .unavailable)))
  }

  @Test func namesInEndpointPathsAreEncoded() async throws {
    for (name, path) in [("a b", "/f/a%20b"), ("#1?%", "/f/%231%3F%25"), ("ü", "/f/%C3%BC")] {
      let rig = try Rig(.download)
      let bytes = content
      let server = FakeServer { $0.files[name] = bytes }
      let outcome = try await rig.run(from: "web:" + name, to: "a") { server.response($0) }
      #expect(outcome.state == .completed && outcome.sent.allSatisfy { $0.path == path })
    }
  }
}
