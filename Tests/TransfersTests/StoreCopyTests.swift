import Digests
import Endpoints
import JobModel
import Synchronization
import Testing

@testable import Transfers

/// Copies out of a versioned store: which of them it makes by itself, and which version is copied.
struct StoreCopyTests {
  private let content = pattern(1_000)

  /// Copies that are in one piece where the manifest says nothing of it.
  private func rig(_ change: (inout TransferSettings) -> Void = { _ in }) throws -> Rig {
    try Rig(.copy, chunkSize: 8 << 20, change: change)
  }

  private func copies(_ outcome: Rig.Outcome) -> Int {
    outcome.sent.count { $0.headers["x-amz-copy-source"] != nil }
  }

  private func sha256(_ bytes: [UInt8]) -> JobModel.Expectation {
    JobModel.Expectation(digests: [.sha256: FakeServer.sha256(bytes)])
  }

  /// Of parts the store tells a CRC-64/NVME: nothing of the copy is compared with a source that has a SHA-256.
  @Test(arguments: [
    (ExistsRule.keep, VerifyLevel.required, true, CopiedBy.relay), (.keep, .available, true, .relay),
    (.fail, .required, false, .relay), (.keep, .available, false, .service),
    (.replace, .required, true, .service), (.replace, .required, false, .service),
  ])
  func aCopyInParts(_ exists: ExistsRule, _ verify: VerifyLevel, _ expects: Bool, _ mover: CopiedBy)
    async throws
  {
    let (rig, store) = (try rig { ($0.ifExists, $0.verify) = (exists, verify) }, CopyStore())
    try store.put("a", content, checksum: .sha256)
    let outcome = try await rig.run(
      from: "store:a", to: "store:c", expect: expects ? sha256(content) : JobModel.Expectation()
    ) { store.response($0) }
    #expect(outcome.state == .completed, "\(String(describing: outcome.progress.failure))")
    #expect(outcome.progress.copiedBy == mover && store.bytes("c") == content)
    #expect((copies(outcome) == 0) == (mover == .relay), "\(outcome.sent.map(\.path))")
  }

  /// The source has the digest that is expected, and of the copy nothing is told: that is no proof of it.
  @Test func aCopyThatNothingIsToldOf() async throws {
    let (rig, store) = (try rig(), CopyStore { $0.copiesChecksums = false })
    try store.put("a", content, checksum: .sha256)
    let outcome = try await rig.run(from: "store:a", to: "store:c", expect: sha256(content)) {
      store.response($0)
    }
    #expect(outcome.state == .completed, "\(String(describing: outcome.progress.failure))")
    #expect(outcome.progress.copiedBy == .relay && copies(outcome) == 1)
    #expect(store.bytes("c") == content)
    #expect(outcome.progress.verification.contains { $0.against == .server && $0.result == .match })
  }

  /// Another client's object, of the copy's size, comes between the service's answer and the look at the copy.
  @Test(arguments: [
    (ExistsRule.replace, VerifyLevel.available), (.keep, .available), (.replace, .size),
  ])
  func aCopyThatIsReplaced(_ exists: ExistsRule, _ verify: VerifyLevel) async throws {
    let (rig, store) = (try rig { ($0.ifExists, $0.verify) = (exists, verify) }, CopyStore())
    let others = pattern(1_000, seed: 2)
    try store.put("a", content)
    let outcome = try await rig.run(from: "store:a", to: "store:c") { sent in
      let reply = store.response(sent)
      let isCopied = ["<CopyObjectResult>", "<CompleteMultipartUploadResult>"].contains {
        reply.body.starts(with: $0.utf8)
      }
      if isCopied { try? store.put("c", others) }
      return reply
    }
    switch (exists, verify) {
    case (.replace, .available):
      #expect(outcome.state == .completed, "\(String(describing: outcome.progress.failure))")
      #expect(outcome.progress.copiedBy == .relay && store.bytes("c") == content)
      #expect(outcome.progress.verification.contains { $0.against == .server && $0.result == .match })
    case (.keep, _):
      #expect(outcome.code == .integrityMismatch && store.bytes("c") == others)
      #expect(outcome.progress.verification.contains(Verification("etag", .server, .mismatch)))
    default: #expect(outcome.progress.copiedBy == .service, "only the size is asked for")
    }
  }

  /// A source that grows between the look at it and its copy is copied by one request all the same.
  @Test func aSourceThatGrows() async throws {
    let (rig, store, larger) = (try rig(), CopyStore(), pattern(1_500, seed: 2))
    try store.put("a", content, checksum: .crc64nvme)
    let outcome = try await rig.run(from: "store:a", to: "store:c") { sent in
      if sent.headers["x-amz-copy-source"] != nil, store.bytes("a") != larger {
        try? store.put("a", larger, checksum: .crc64nvme)
      }
      return store.response(sent)
    }
    #expect(outcome.state == .completed, "\(String(describing: outcome.progress.failure))")
    #expect(outcome.progress.copiedBy == .service && store.bytes("c") == larger)
    #expect(copies(outcome) == 2 && store.state.withLock { $0.opened } == 0)
  }

  /// The version that was begun with is copied to its end, however often the copy is stopped.
  @Test func aVersionIsCopiedOn() async throws {
    let (store, server, bytes) = (CopyStore(), FakeServer(), pattern(5_300))
    let rig = try Rig(.copy) {
      $0.policy.retryAttempts = 1; $0.policy.chunksInFlight = 1
    }
    func run(refusing chunk: Int?) async throws -> Rig.Outcome {
      try await rig.run(from: "store:big", to: "api:a.txt") { sent in
        if let chunk, sent.path.hasSuffix("/chunks/\(chunk)") { return .status(503) }
        return sent.path.hasPrefix("/b/") ? store.response(sent) : server.response(sent)
      }
    }
    try store.put("big", bytes)
    #expect(try await run(refusing: 2).state == .paused(.retries))
    try store.put("big", pattern(5_300, seed: 2))
    #expect(try await run(refusing: 3).state == .paused(.retries))
    #expect(try await run(refusing: 4).state == .paused(.retries))
    let end = try await run(refusing: nil)
    #expect(end.state == .completed, "\(String(describing: end.progress.failure))")
    #expect(server.file("a.txt") == bytes && server.state.withLock { $0.opened } == 1)
  }

  /// What the source vouches for is compared with what passed; of a copy that goes on it is read once more, for what the sink
  /// tells.
  @Test(arguments: [false, true]) func whatTheSourceVouchesFor(_ isStopped: Bool) async throws {
    let (store, server, bytes) = (CopyStore(), FakeServer(), pattern(5_300))
    let rig = try Rig(.copy) {
      $0.policy.retryAttempts = 1
      $0.policy.chunksInFlight = 1
    }
    try store.put("big", bytes, checksum: .crc64nvme)
    func run(refusing chunk: String?) async throws -> Rig.Outcome {
      try await rig.run(from: "store:big", to: "api:a.txt") { sent in
        if let chunk, sent.path.hasSuffix(chunk) { return .status(503) }
        return sent.path.hasPrefix("/b/") ? store.response(sent) : server.response(sent)
      }
    }
    if isStopped { #expect(try await run(refusing: "/chunks/2").state == .paused(.retries)) }
    let end = try await run(refusing: nil)
    #expect(end.state == .completed && server.file("a.txt") == bytes)
    for check in ["crc64nvme-of-source", "sha256"] {
      let compared = Verification(check, .server, .match)
      #expect(end.progress.verification.contains(compared), "\(end.progress.verification)")
    }
  }

  /// A server that spoils a chunk that it took, and compares and tells the SHA-256 of what it has: a copy that was stopped is
  /// found out like any other.
  @Test(arguments: [VerifyLevel.available, .required])
  func whatAServerSpoilsOfAStoppedCopy(_ verify: VerifyLevel) async throws {
    let (store, server, bytes) = (CopyStore(), FakeServer(), pattern(5_300))
    let rig = try Rig(.copy) {
      $0.policy.retryAttempts = 1
      $0.policy.chunksInFlight = 1
      $0.verify = verify
    }
    try store.put("big", bytes)
    func run(refusing chunk: String?) async throws -> Rig.Outcome {
      try await rig.run(from: "store:big", to: "api:a.txt") { sent in
        if let chunk, sent.path.hasSuffix(chunk) { return .status(503) }
        return sent.path.hasPrefix("/b/") ? store.response(sent) : server.response(sent)
      }
    }
    #expect(try await run(refusing: "/chunks/2").state == .paused(.retries))
    server.state.withLock { $0.sessions["s1"]?.chunks[0]?[0] ^= 1 }
    let end = try await run(refusing: nil)
    #expect(end.state == .completed, "\(String(describing: end.progress.failure))")
    #expect(server.file("a.txt") == bytes && server.state.withLock { $0.opened } == 2)
    #expect(end.progress.verification.contains(Verification("sha256", .server, .match)))
  }

  /// Another object takes the name while chunks are read: the version that was begun with is copied on in the same session,
  /// whether its chunks are held or pass.
  @Test(arguments: [16 << 20, 500]) func aVersionIsReadOn(_ buffers: Int) async throws {
    let (store, server, bytes) = (CopyStore(), FakeServer(), pattern(5_300))
    let rig = try Rig(.copy) { $0.policy.chunksInFlight = 1 }
    try store.put("big", bytes)
    let outcome = try await rig.run(
      from: "store:big", to: "api:a.txt", buffers: BufferBudget(bytes: buffers)
    ) { sent in
      guard sent.path.hasPrefix("/b/") else { return server.response(sent) }
      let reply = store.response(sent)
      if sent.headers["Range"]?.hasPrefix("bytes=3000-") == true, store.bytes("big") == bytes {
        try? store.put("big", pattern(5_300, seed: 2))
      }
      return reply
    }
    #expect(outcome.state == .completed, "\(String(describing: outcome.progress.failure))")
    #expect(server.file("a.txt") == bytes && server.state.withLock { $0.opened } == 1)
    #expect(outcome.progress.sourceObject?.isPinned == true && outcome.progress.freshStarts == 0)
  }

  /// The name is deleted while chunks are read: its version is there still.
  @Test func aVersionOfADeletedNameIsReadOn() async throws {
    let (store, server, bytes) = (CopyStore(), FakeServer(), pattern(5_300))
    let rig = try Rig(.copy) { $0.policy.chunksInFlight = 1 }
    let isDeleted = Atomic(false)
    try store.put("big", bytes)
    let outcome = try await rig.run(from: "store:big", to: "api:a.txt") { sent in
      guard sent.path.hasPrefix("/b/") else { return server.response(sent) }
      if sent.headers["Range"]?.hasPrefix("bytes=3000-") == true { isDeleted.store(true, ordering: .relaxed) }
      let isNamed = sent.url.query?.contains("versionId=") == true
      return isNamed || !isDeleted.load(ordering: .relaxed) ? store.response(sent) : .status(404)
    }
    #expect(outcome.state == .completed, "\(String(describing: outcome.progress.failure))")
    #expect(server.file("a.txt") == bytes && server.state.withLock { $0.opened } == 1)
    #expect(outcome.progress.sourceObject?.isPinned == true && outcome.progress.freshStarts == 0)
  }

  /// Killed behind the only request, whose store tells another digest than its source: it is not taken for a stranger's.
  @Test(arguments: [ExistsRule.keep, .fail], [false, true])
  func theOnlyRequestsAnswerIsLost(_ exists: ExistsRule, isStrangers: Bool) async throws {
    let (source, store, other) = (CopyStore(), CopyStore(), pattern(1_000, seed: 2))
    try source.put("a", content)
    func run(_ rig: Rig, to store: CopyStore, stopAt: Int? = nil) async throws -> Rig.Outcome {
      try await rig.run(from: "other:a", to: "store:c", stopAt: stopAt) { sent in
        var reply = (sent.url.host == "o" ? source : store).response(sent)
        // An attempt that is stopped reads no body to its end.
        if sent.method == "PUT" { reply.body = Array("stored".utf8) }
        return reply
      }
    }
    let whole = try await run(try rig { $0.ifExists = exists }, to: CopyStore())
    let put = try #require(whole.sent.first { $0.method == "PUT" })
    let rig = try rig { $0.ifExists = exists }
    let killed = try await run(rig, to: store, stopAt: put.number)
    #expect(killed.progress.sessionState == .finalizing && killed.progress.completedAt == nil)
    #expect(store.bytes("c") == content)
    if isStrangers { try store.put("c", other, checksum: .crc64nvme) }
    let next = try await run(rig, to: store)
    #expect(!next.sent.contains { $0.method == "PUT" })
    #expect(store.bytes("c") == (isStrangers ? other : content))
    guard !isStrangers else { return #expect(next.state != .completed) }
    #expect(next.state == .completed, "\(String(describing: next.progress.failure))")
    #expect(next.progress.verification.contains(Verification("size", .server, .match)))
  }
}
