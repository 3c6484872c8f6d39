import Digests
import Endpoints
import Foundation
import JobLedger
import JobModel
import Synchronization
import Testing

@testable import Transfers

/// The last step: the proved file is tied to its record, once by its key, whatever happens on the way.
struct AttachTests: DownloadCase {
  private static func then(
    _ json: String = "${file.sha256} ${file.size} ${id}", endpoint: String? = "web", target: String = "rec",
    statuses: [Int] = []
  ) throws -> AttachTemplate {
    AttachTemplate(
      .post, endpoint: endpoint, target: try InterpolationParser.parse(target),
      body: .mapping([.init("file", .text(try InterpolationParser.parse(json)))]), statuses: statuses)
  }

  private static func rig(
    _ direction: Verb = .download, _ then: AttachTemplate? = try? then(),
    change: (inout TransferSettings) -> Void = { _ in }
  ) throws -> Rig {
    let rig = try Rig(direction) { settings in
      settings.then = then
      change(&settings)
    }
    if direction == .upload { try rig.write("src", pattern(5_300)) }
    return rig
  }

  private func attaches(_ outcome: Rig.Outcome) -> [Sent] { outcome.sent.filter { $0.method == "POST" } }

  private func isRecord(_ sent: Sent) -> Bool { sent.path.hasSuffix("/rec") }

  @Test func afterTheFileIsInItsPlace() async throws {
    let rig = try Self.rig()
    let path = rig.path
    let outcome = try await run(rig, server()) { sent in
      guard sent.method == "POST" else { return nil }
      // Renamed already.
      return .status(FileManager.default.fileExists(atPath: path + "/work/out/a") ? 201 : 500)
    }
    checkComplete(rig, outcome)
    let sent = try #require(attaches(outcome).first)
    #expect(attaches(outcome).count == 1 && sent.number == outcome.sent.count && sent.path == "/f/rec")
    #expect(
      String(decoding: sent.body, as: UTF8.self)
        == #"{"file":"\#(FakeServer.sha256(content)) 10500 t"}"#)
    #expect(sent.headers["Content-Type"] == "application/json")
    let record = try #require(outcome.progress.attach)
    #expect(sent.headers["Idempotency-Key"] == record.key && record.key.count == 36)
    #expect(record.state == .attached && record.status == 201 && record.tries == 1 && record.request == nil)
    #expect(outcome.progress.requests == outcome.sent.count && !outcome.progress.isAttaching)
    // It is tied: nothing is sent again.
    let again = try await run(rig, server())
    #expect(again.state == .upToDate(nil) && attaches(again).isEmpty)
    #expect(again.progress.attach == record)
  }

  /// How each answer ends it; whatever it was, the file stays, and the next run makes this request alone.
  @Test(
    arguments: [
      (.status(500), .serverError, 3), (.status(503, ["Retry-After": "1"]), .serverError, 3),
      (.status(429), .rateLimited, 3), (.status(408), .serverError, 3), (.status(425), .serverError, 3),
      (.status(501), .serverError, 3), (.broken(), .networkUnreachable, 3), (.broken(.timeout), .timeout, 3),
      (Reply(isMute: true), .networkUnreachable, 3), (.broken(.protocolViolation), .attachFailed, 3),
      (.broken(.tlsFailed), .tlsFailed, 1), (.status(400), .attachFailed, 1),
      (.status(401), .attachFailed, 1),
      (.status(403), .attachFailed, 1), (.status(404), .attachFailed, 1), (.status(409), .attachFailed, 1),
      (.status(422), .attachFailed, 1), (.status(202), .attachFailed, 1), (.status(304), .attachFailed, 1),
      (.status(302, ["Location": "/elsewhere"]), .attachFailed, 1),
      (.status(303, ["Location": "/elsewhere"]), .attachFailed, 1),
    ] as [(Reply, ErrorCode, Int)])
  func refusals(_ reply: Reply, _ code: ErrorCode, _ tries: Int) async throws {
    for direction in [Verb.download, .upload] {
      let rig = try Self.rig(direction, try Self.then(statuses: [200, 201, 204]))
      let server = server()
      // Later, whatever the server has asked for, or its host was found to be, is over.
      func run(
        _ later: Double = 0, _ answer: @escaping @Sendable (Sent) -> Reply?
      ) async throws -> Rig.Outcome {
        let isUpload = direction == .upload
        return try await rig.run(
          from: isUpload ? "src" : "http://h/f/a", to: isUpload ? "api:a.txt" : "out/a",
          now: 1_700_000_000 + later
        ) {
          answer($0) ?? server.response($0)
        }
      }
      let first = try await run { $0.path.hasSuffix("/rec") ? reply : nil }
      #expect(first.code == code, "\(first.progress.failure.map(\.message) ?? "-")")
      #expect(first.state == (code.isRetryable ? .paused(.retries) : .failed))
      let sent = first.sent.filter(isRecord)
      #expect(sent.count == tries && Set(sent.compactMap { $0.headers["Idempotency-Key"] }).count == 1)
      #expect(first.progress.isAttaching && first.progress.attach?.tries == tries)
      #expect(first.progress.attach?.state == (code.isRetryable ? .owed : .refused))
      #expect(!first.sent.contains { $0.path == "/elsewhere" })
      let bytes = direction == .upload ? server.file("a.txt") : rig.read("out/a")
      #expect(bytes == (direction == .upload ? pattern(5_300) : content), "the file is kept")
      let next = try await run(10_000) { $0.path.hasSuffix("/rec") ? .status(204) : nil }
      #expect(next.sent.count == 1 && next.sent.allSatisfy(isRecord), "\(next.sent.map(\.path))")
      #expect(next.sent.first?.headers["Idempotency-Key"] == sent.first?.headers["Idempotency-Key"])
      #expect(next.sent.first?.body == sent.first?.body)
      #expect(next.state == .completed && next.progress.transferred == 0 && next.progress.failure == nil)
      #expect(next.progress.reused == bytes.map { Int64($0.count) }, "all of it was there")
      #expect(next.progress.attach?.state == .attached && next.progress.attach?.tries == tries + 1)
    }
  }

  /// What it says of a copy is computed as the bytes pass: the source is read once.
  @Test(arguments: [VerifyLevel.available, .size])
  func aCopysSourceIsReadOnceForIt(_ verify: VerifyLevel) async throws {
    let (store, server, bytes) = (CopyStore(), FakeServer(), pattern(5_300))
    let rig = try Self.rig(.copy, try Self.then("${file.md5}")) { $0.verify = verify }
    try store.put("big", bytes)
    let outcome = try await rig.run(from: "store:big", to: "api:a.txt") { sent in
      if sent.path.hasSuffix("/rec") { return .status(200) }
      return sent.path.hasPrefix("/b/") ? store.response(sent) : server.response(sent)
    }
    #expect(outcome.state == .completed, "\(String(describing: outcome.progress.failure))")
    #expect(outcome.progress.transferred == 5_300 && server.file("a.txt") == bytes)
    let (said, md5) = (outcome.sent.first(where: isRecord)?.body ?? [], try Digest.hex(of: bytes, .md5))
    #expect(String(decoding: said, as: UTF8.self) == #"{"file":"\#(md5)"}"#)
  }

  /// What is proved is on record before it is read for the request: a kill amid the reading moves nothing again.
  @Test func onRecordBeforeItIsReadForTheRequest() async throws {
    let (rig, store) = (try Self.rig(.copy), CopyStore())
    try store.put("a", content)
    let isOnRecord = Atomic(false)
    let outcome = try await rig.run(from: "store:a", to: "store:c") { sent in
      if sent.path.hasSuffix("/rec") { return .status(200) }
      if sent.method == "GET", sent.headers["Range"] != nil, store.bytes("c") != nil {
        for _ in 0..<1000 {
          let progress = try? rig.ledger().transfer(1)?.progress
          isOnRecord.store(progress?.completedAt != nil, ordering: .relaxed)
          if isOnRecord.load(ordering: .relaxed) { break }
          usleep(10_000)
        }
      }
      return store.response(sent)
    }
    #expect(outcome.state == .completed, "\(String(describing: outcome.progress.failure))")
    #expect(isOnRecord.load(ordering: .relaxed) && outcome.progress.attach?.state == .attached)
  }

  /// Only a redirect that keeps method and body.
  @Test(arguments: [307, 308]) func redirects(_ status: Int) async throws {
    let rig = try Self.rig()
    let outcome = try await run(rig, server()) { sent in
      switch sent.path {
      case "/f/rec": .status(status, ["Location": "/moved"])
      case "/moved": .status(200)
      default: nil
      }
    }
    checkComplete(rig, outcome)
    let sent = attaches(outcome)
    #expect(sent.map(\.path) == ["/f/rec", "/moved"] && sent[0].body == sent[1].body)
    #expect(sent[0].headers["Idempotency-Key"] == sent[1].headers["Idempotency-Key"])
  }

  @Test func credentialsAreRenewedOnce() async throws {
    let rig = try Self.rig()
    let server = server()
    let outcome = try await rig.run(
      from: "web:a", to: "out/a", endpoint: .bearer(.environment("T"))
    ) { sent in
      guard sent.path == "/f/rec" else { return server.response(sent) }
      return .status(sent.headers["Authorization"] == "Bearer token1" ? 401 : 200)
    }
    checkComplete(rig, outcome)
    #expect(attaches(outcome).count == 2)
  }

  /// The credentials of an endpoint go with its own requests alone.
  @Test func aURLHasNoCredentials() async throws {
    let rig = try Self.rig(.download, try Self.then(endpoint: nil, target: "http://other/rec"))
    let server = server()
    let outcome = try await rig.run(
      from: "web:a", to: "out/a", endpoint: .bearer(.environment("T"))
    ) { $0.path == "/rec" ? .status(200) : server.response($0) }
    checkComplete(rig, outcome)
    let sent = try #require(attaches(outcome).first)
    #expect(sent.url.host == "other" && sent.headers["Authorization"] == nil)
  }

  @Test func deniedHosts() async throws {
    let rig = try Self.rig(.download, try Self.then(endpoint: nil, target: "http://other/rec")) {
      $0.policy.deniedHosts = ["other"]
    }
    let outcome = try await run(rig, server())
    #expect(outcome.state == .failed && outcome.code == .policyDenied && attaches(outcome).isEmpty)
    #expect(rig.read("out/a") == content && outcome.progress.isAttaching)
  }

  /// Stopped at each of its requests, also at those whose answers were lost: one key, one file, and no byte twice.
  @Test(arguments: [Verb.download, .upload]) func stoppedAnywhere(_ direction: Verb) async throws {
    for number in 1...40 {
      let rig = try Self.rig(direction)
      let server = server()
      var keys: Set<String> = []
      var moved: Int64 = 0
      var state: TransferState?
      for attempt in 0..<6 where state != .completed {
        let isUpload = direction == .upload
        let outcome = try await rig.run(
          from: isUpload ? "src" : "http://h/f/a", to: isUpload ? "api:a.txt" : "out/a",
          stopAt: attempt == 0 ? number : nil
        ) { $0.path.hasSuffix("/rec") ? .status(200) : server.response($0) }
        keys.formUnion(outcome.sent.filter(isRecord).compactMap { $0.headers["Idempotency-Key"] })
        if outcome.state == .completed, attempt > 0, outcome.sent.allSatisfy(isRecord) {
          #expect(outcome.progress.transferred == moved, "only the request was left")
        }
        (moved, state) = (outcome.progress.transferred, outcome.state)
      }
      #expect(state == .completed && keys.count == 1, "stopped at \(number): \(keys)")
    }
  }

  /// What the manifest says differently is sent anew; what it says of the run alone is not.
  @Test func changedRequests() async throws {
    let rig = try Self.rig(.download, try Self.then("${run.id} ${file.size}"))
    let server = server()
    func run(_ then: AttachTemplate?) async throws -> Rig.Outcome {
      try await rig.run(from: "http://h/f/a", to: "out/a", changing: { $0.then = then }) { sent in
        sent.path == "/f/rec" ? .status(200) : server.response(sent)
      }
    }
    let first = try await run(try Self.then("${run.id} ${file.size}"))
    #expect(attaches(first).map { String(decoding: $0.body, as: UTF8.self) } == [#"{"file":" 10500"}"#])
    let second = try await run(try Self.then("${run.id} ${file.size}"))
    #expect(second.state == .upToDate(nil) && attaches(second).isEmpty)
    let third = try await run(try Self.then("new ${file.size}"))
    #expect(third.state == .completed && attaches(third).count == 1 && third.progress.transferred == 0)
    #expect(third.progress.attach?.key != first.progress.attach?.key)
    let fourth = try await run(nil)
    #expect(fourth.state == .upToDate(nil) && attaches(fourth).isEmpty)
  }

  /// The manifest takes it back: nothing is owed any more.
  @Test func takenBack() async throws {
    let rig = try Self.rig()
    let server = server()
    func run(_ then: AttachTemplate?) async throws -> Rig.Outcome {
      try await rig.run(from: "http://h/f/a", to: "out/a", changing: { $0.then = then }) { sent in
        sent.path == "/f/rec" ? .status(404) : server.response(sent)
      }
    }
    #expect(try await run(try Self.then()).code == .attachFailed)
    let next = try await run(nil)
    #expect(next.state == .upToDate(nil) && next.progress.attach == nil && attaches(next).isEmpty)
  }

  /// Mended in the manifest: the request as it is now, under another key.
  @Test func mended() async throws {
    let rig = try Self.rig()
    let server = server()
    func run(_ json: String) async throws -> Rig.Outcome {
      let then = try Self.then(json)
      return try await rig.run(from: "http://h/f/a", to: "out/a", changing: { $0.then = then }) { sent in
        guard sent.path == "/f/rec" else { return server.response(sent) }
        return .status(String(decoding: sent.body, as: UTF8.self).contains("good") ? 200 : 422)
      }
    }
    let bad = try await run("bad")
    let good = try await run("good")
    #expect(bad.code == .attachFailed && good.state == .completed && good.sent.count == 1)
    #expect(good.progress.attach?.key != bad.progress.attach?.key)
  }

  /// A URL that is signed anew is no other request: what is owed goes with the signature that works, under its key.
  @Test func anotherSignature() async throws {
    let rig = try Self.rig()
    let server = server()
    func run(_ signature: String, _ status: Int) async throws -> Rig.Outcome {
      let then = try Self.then(endpoint: nil, target: "http://other/rec?sig=" + signature)
      return try await rig.run(from: "http://h/f/a", to: "out/a", changing: { $0.then = then }) { sent in
        sent.path == "/rec" ? .status(status) : server.response(sent)
      }
    }
    let failed = try await run("1", 403)
    #expect(failed.code == .attachFailed)
    let next = try await run("2", 200)
    #expect(next.state == .completed && next.sent.map(\.url.query) == ["sig=2"])
    #expect(next.progress.attach?.key == failed.progress.attach?.key)
    let last = try await run("3", 200)
    #expect(last.state == .upToDate(nil) && attaches(last).isEmpty)
  }

  /// Another file is tied anew, under a key of its own.
  @Test func anotherFile() async throws {
    let rig = try Self.rig()
    let server = server()
    func run() async throws -> Rig.Outcome {
      try await self.run(rig, server) { $0.path == "/f/rec" ? .status(200) : nil }
    }
    let first = try await run()
    server.put("a", pattern(10_500, seed: 9), tag: "\"2\"")
    let second = try await run()
    #expect(second.state == .completed && attaches(second).count == 1)
    #expect(first.progress.attach?.key != second.progress.attach?.key)
    // So is one whose local file has gone.
    try FileManager.default.removeItem(atPath: rig.path + "/work/out/a")
    let third = try await run()
    #expect(third.state == .completed && attaches(third).count == 1)
  }

  /// While it is owed, the file goes: it is fetched again before it is tied.
  @Test func theFileIsGone() async throws {
    let rig = try Self.rig()
    let server = server()
    let failed = try await run(rig, server) { $0.path == "/f/rec" ? .status(404) : nil }
    #expect(failed.code == .attachFailed)
    try FileManager.default.removeItem(atPath: rig.path + "/work/out/a")
    let next = try await run(rig, server) { $0.path == "/f/rec" ? .status(200) : nil }
    checkComplete(rig, next)
    #expect(attaches(next).count == 1 && next.progress.transferred == 10_500)
  }

  /// A newer source is sent before it is tied; one that is gone says nothing against what the server has.
  @Test(arguments: [true, false]) func theSourceOfAnUpload(_ isNewer: Bool) async throws {
    let rig = try Self.rig(.upload, try Self.then("${file.remote_id} ${file.content_type}"))
    let server = server()
    func run(_ status: Int) async throws -> Rig.Outcome {
      try await rig.run(from: "src", to: "api:a.txt") {
        $0.path.hasSuffix("/rec") ? .status(status) : server.response($0)
      }
    }
    let failed = try await run(404)
    let body = failed.sent.last.map { String(decoding: $0.body, as: UTF8.self) }
    #expect(body == #"{"file":"id-s1 application/octet-stream"}"#)
    if isNewer {
      try rig.write("src", pattern(4_000, seed: 4))
    } else {
      try FileManager.default.removeItem(atPath: rig.path + "/work/src")
    }
    let next = try await run(200)
    #expect(next.state == .completed)
    #expect(isNewer ? next.sent.count > 3 : next.sent.count == 1)
    #expect(server.file("a.txt") == (isNewer ? pattern(4_000, seed: 4) : pattern(5_300)))
  }

  /// A record that another upload has left at the destination is this one's only where the contents are the same.
  ///
  /// - Parameter seed: of a source of the same size; nil for none.
  @Test(arguments: [nil, 0, 4] as [Int?]) func aRecordOfAnother(_ seed: Int?) async throws {
    let rig = try Self.rig(.upload)
    let server = server()
    func run(_ status: Int) async throws -> Rig.Outcome {
      try await rig.run(from: "src", to: "api:a.txt") {
        $0.path.hasSuffix("/rec") ? .status(status) : server.response($0)
      }
    }
    #expect(try await run(422).code == .attachFailed)
    // As `JobLedger.inherit` gives it on.
    try await rig.alter { progress in
      progress.source = FileFacts(
        size: 5_300, mtime: 0, ctime: 0, inode: 0, fingerprint: progress.source?.fingerprint)
    }
    let path = rig.path + "/work/src"
    if let seed {
      try rig.write("src", pattern(5_300, seed: seed))
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: 0)], ofItemAtPath: path)
    } else {
      try FileManager.default.removeItem(atPath: path)
    }
    let next = try await run(200)
    guard let seed else {
      #expect(next.code == .sourceMissing && !next.sent.contains(where: isRecord))
      return
    }
    #expect(next.state == .completed && next.sent.filter(isRecord).count == 1)
    #expect(server.file("a.txt") == pattern(5_300, seed: seed))
    #expect(next.sent.contains { $0.method == "PUT" } == (seed != 0))
  }

  /// A file that was there already, and one that was complete before the manifest said `then`.
  @Test func filesThatWereThere() async throws {
    let rig = try Self.rig()
    try rig.write("out/a", content)
    let adopted = try await run(rig, server()) { $0.path == "/f/rec" ? .status(200) : nil }
    #expect(adopted.state == .upToDate(.adopted) && attaches(adopted).count == 1)
    let again = try await run(rig, server())
    #expect(again.state == .upToDate(nil) && attaches(again).isEmpty)

    let late = try Self.rig(.download, nil)
    _ = try await run(late, server())
    let server = server()
    let then = try Self.then()
    let attached = try await late.run(from: "http://h/f/a", to: "out/a", changing: { $0.then = then }) {
      sent in
      sent.path == "/f/rec" ? .status(200) : server.response(sent)
    }
    #expect(attached.state == .completed && attaches(attached).count == 1)
    #expect(attached.progress.transferred == 0)
  }

  /// Digests that nothing else needs are computed for it, however the file came.
  @Test func digests() async throws {
    let then = try Self.then("${file.md5} ${file.crc32c} ${file.sha256}")
    for direction in [Verb.download, .upload] {
      for verify in [VerifyLevel.available, .size] {
        let rig = try Self.rig(direction, then) { $0.verify = verify }
        let server = server()
        let isUpload = direction == .upload
        let outcome = try await rig.run(
          from: isUpload ? "src" : "http://h/f/a", to: isUpload ? "api:a.txt" : "out/a"
        ) { $0.path.hasSuffix("/rec") ? .status(200) : server.response($0) }
        #expect(outcome.state == .completed, "\(outcome.progress.failure.map(\.message) ?? "-")")
        let body = String(decoding: outcome.sent.last?.body ?? [], as: UTF8.self)
        let sha256 = FakeServer.sha256(isUpload ? pattern(5_300) : content)
        #expect(body.count == #"{"file":"  "}"#.count + 32 + 8 + 64 && body.contains(sha256), "\(body)")
      }
    }
  }

  /// A web server has no id for what it takes: the address would be the collection's.
  @Test func anAddressThatIsNotWhole() async throws {
    let rig = try Self.rig(.download, try Self.then(target: "rec/${file.remote_id}"))
    let outcome = try await run(rig, server())
    #expect(outcome.state == .failed && outcome.code == .attachFailed && attaches(outcome).isEmpty)
    #expect(rig.read("out/a") == content && outcome.progress.failure?.message.contains("remote_id") == true)
  }

  /// What is tied does not fail for a value that its server does not tell any more.
  @Test func aTiedFileWhoseAddressIsNoLongerWhole() async throws {
    let rig = try Self.rig(.download, try Self.then(target: "rec/${file.content_type}"))
    let server = server()
    func run() async throws -> Rig.Outcome {
      try await self.run(rig, server) { $0.method == "POST" ? .status(200) : nil }
    }
    let first = try await run()
    #expect(first.state == .completed && attaches(first).map(\.path) == ["/f/rec/text/plain"])
    try await rig.alter { $0.remote.contentType = nil }
    let next = try await run()
    #expect(next.state == .upToDate(nil) && next.code == nil && attaches(next).isEmpty)
    #expect(next.progress.attach?.key == first.progress.attach?.key)
    let told = next.events.contains { event in
      guard case .diagnostic(let diagnostic) = event else { return false }
      return diagnostic.message.contains("stays tied")
    }
    #expect(told)
  }

  /// A file that is not proved is not tied.
  @Test func notBeforeTheProof() async throws {
    let rig = try Self.rig()
    var expect = JobModel.Expectation()
    expect.digests[.sha256] = String(repeating: "0", count: 64)
    let outcome = try await run(rig, server(), expect: expect)
    #expect(outcome.state == .failed && attaches(outcome).isEmpty && outcome.progress.attach == nil)
  }

  @Test func keysAreRandomUUIDs() throws {
    let form = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/
    let outcomes = Set((0..<50).map { _ in AttachStep.newKey() })
    #expect(outcomes.count == 50 && outcomes.allSatisfy { $0.wholeMatch(of: form) != nil })
  }
}
