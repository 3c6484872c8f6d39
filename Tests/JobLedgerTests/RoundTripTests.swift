import Foundation
import JobLedger
import JobModel
import Testing

/// What goes into the ledger comes out of it, field by field.
struct RoundTripTests {
  private static func policy() -> EffectivePolicy {
    var policy = EffectivePolicy()
    policy.transfers = 7
    policy.chunksInFlight = 9
    policy.keepsChunksInFlight = true
    policy.connectionsTotal = 21
    policy.connectionsPerHost = 3
    policy.downloadRate = .bytesPerSecond(12_345)
    policy.uploadRate = .bytesPerSecond(1)
    policy.timezone = "Europe/Vaduz"
    let window = TimeWindow(days: [.mon, .sun], from: 60, to: 1440)
    policy.schedule = [ScheduleEntry(window: window, download: .unlimited, upload: .bytesPerSecond(5))]
    policy.window = [window, TimeWindow(days: [], from: 0, to: 1)]
    policy.deadline = 12.3456
    policy.budget = Budget(bytes: 1 << 50, period: .month)
    policy.failFastFailures = 4
    policy.failFastShare = 0.0125
    policy.connectTimeout = 0.0005
    policy.requestTimeout = 1.23456
    policy.stallTimeout = 2
    policy.retryAttempts = 1
    policy.retryInitial = 0.0001
    policy.retryMax = 0.1
    policy.retryMultiplier = 1.23456
    policy.retryJitter = .none
    policy.minFree = 1 << 40
    policy.metered = .pause
    policy.interface = "eth0"
    policy.allowedHosts = ["*.example.net"]
    policy.deniedHosts = ["bad \"host\""]
    policy.deniedAddresses = ["10.0.0.0/8"]
    policy.ip = .v6
    policy.proxy = .url("socks5://h:1")
    policy.tlsMinVersion = .v1_3
    policy.caFile = "/ca"
    policy.clientCertificate = "/cert"
    policy.clientKey = "/key"
    policy.pinnedKeys = ["sha256//AA="]
    policy.insecure = true
    policy.httpVersion = .v2
    policy.redirects = 0
    policy.userAgent = "u\u{1}\n"
    policy.headers = [
      HeaderSetting(name: "A", value: .text("ü")),
      HeaderSetting(name: "B", value: .secret(.environment("E"))),
      HeaderSetting(name: "C", value: .secret(.file("/f"))),
      HeaderSetting(name: "D", value: .secret(.command(["c", "d"]))),
    ]
    // Of the whole job's, limits alone are on record.
    var whole = policy.plain
    whole.transfers = 70
    whole.budget = Budget(bytes: 1 << 51, period: .month)
    policy.undivided = .of(whole)
    return policy
  }

  private static func settings() -> TransferSettings {
    var settings = TransferSettings(direction: .upload)
    settings.chunkSize = .auto
    settings.verify = .readback
    settings.contentType = "text/x"
    settings.policyName = "office"
    settings.hasOwnBudget = true
    settings.policy = policy()
    settings.refresh = .never
    settings.ifExists = .fail
    settings.mode = 0o4755
    settings.keepsSourceTime = true
    settings.snapshot = .copy
    settings.headers = [HeaderSetting(name: "X", value: .secret(.environment("Y")))]
    settings.sourceHeaders = [HeaderSetting(name: "Z", value: .text("1"))]
    settings.sourcePolicy = policy()
    // How many chunks of an upload begin is the destination's to say.
    settings.sourcePolicy?.keepsChunksInFlight = false
    settings.then = then()
    settings.needs = ["a", "b/*"]
    settings.isEnabled = false
    settings.allowsOutside = true
    settings.obstacle = .climbs
    if let rule = try? PreserveRule(["available", "tags!", "mode"]) { settings.preserve = rule }
    settings.given.metadata = ["owner": "anna"]
    settings.given.tags = ["team": "a b"]
    settings.given.storageClass = "STANDARD_IA"
    settings.given.written = ["metadata.owner": "${env.OWNER}"]
    return settings
  }

  private static func then() -> AttachTemplate {
    let text = InterpolatedText(parts: [
      .literal("${$"),
      .reference(.init(name: .file(.digest(.crc64nvme)), filters: [.url, .basename, .fallback("\"x\"")])),
      .reference(.init(name: .id, filters: [])), .reference(.init(name: .runDate, filters: [.fallback("")])),
    ])
    // As deep as a manifest's may be.
    var body = JSONTemplate.mapping([
      .init("a", .value(.exact(1.5))), .init("a", .text(text)), .init("ü", .value(.object([]))),
    ])
    for _ in 1..<16 { body = .list([body, .value(.null), .value(.integer(.max))]) }
    return AttachTemplate(
      .patch, endpoint: "api", target: text, body: body,
      headers: [
        .init(name: "A", value: .text(text)), .init(name: "B", value: .secret(.command(["c"]))),
      ], statuses: [200, 409], policy: policy().plain)
  }

  private static func progress() -> TransferProgress {
    var progress = TransferProgress()
    progress.size = 1 << 60
    progress.chunkSize = 65_537
    progress.remote.attributes.mtime = 1_700_000_000_123_456_789
    progress.remote.attributes.mode = 0o640
    progress.remote.size = 3
    progress.remote.etag = "W/\"e\""
    progress.remote.lastModified = "Sun, 06 Nov 1994 08:49:37 GMT"
    progress.remote.lastModifiedIsStrong = true
    progress.remote.contentType = "a/b"
    progress.remote.contentEncoding = "gzip"
    progress.remote.version = "v"
    progress.remote.fileName = "n \u{0}"
    progress.remote.digests = [.md5: "aa", .sha256: "bb"]
    progress.remote.facts = ["number": "3"]
    progress.remote.servesRanges = false
    progress.session = RemoteSession(
      id: "s", chunkSize: 9, expiresAt: 1_700_000_000.5, requiredHeaders: ["X": "1"], facts: ["k": "v"])
    progress.sessionState = .finalizing
    progress.remoteID = "r"
    progress.resolvedDestination = "out/ü"
    progress.source = FileFacts(
      size: 1, mtime: 1_700_000_000_123_456_789, ctime: .max, inode: .max, fingerprint: "ff")
    progress.destination = FileFacts(size: 2, mtime: -1, ctime: 0, inode: 0)
    progress.digests = [.sha512: "cc", .crc32c: "dd", .sha1: "ee"]
    progress.verification = [
      Verification("sha256", .manifest, .match), Verification("size", .server, .mismatch),
      Verification("readback", .local, .unavailable),
    ]
    progress.chunksTotal = 11
    progress.chunksCompleted = 10
    progress.chunksReused = 9
    progress.contiguousBytes = 8
    progress.transferred = 1 << 50
    progress.reused = 7
    progress.discarded = 6
    progress.requests = 5
    progress.retries = 4
    progress.attempts = 3
    progress.maxChunkAttempts = 2
    progress.lastHTTPStatus = 599
    progress.startedAt = 1_700_000_000.123456
    progress.endedAt = 0
    progress.updatedAt = -1.5
    progress.duration = 0.25
    progress.failure = Failure(
      .chunkConflict, "was \"so\"\u{7}", httpStatus: 409, chunk: 3, expected: "x", actual: "y")
    progress.failedAt = 1
    progress.freshStarts = 2
    progress.intendedInode = .max
    progress.completedAt = 12.5
    progress.isSynced = true
    progress.bootID = "boot"
    progress.movedBecause = .damaged
    progress.automaticChunk = 4 << 20
    progress.sourceObject = progress.remote
    progress.attributes = KeptAttributes(preserved: [.contentType, .mtime], lost: [.tags])
    progress.copiedBy = .service
    progress.attach = AttachRecord(
      key: "key", identity: "id",
      request: AttachRequest(
        .put, endpoint: "api", target: "r/\u{7}", body: "{\"a\":[1]}",
        headers: [
          HeaderSetting(name: "A", value: .text("ü")), HeaderSetting(name: "B", value: .secret(.file("/f"))),
        ]))
    progress.attach?.state = .refused
    progress.attach?.tries = 9
    progress.attach?.status = 404
    progress.attach?.at = 1_700_000_000.5
    return progress
  }

  /// Nothing may be left at its default, or a field that is added later goes unseen.
  private func differing<Value>(_ value: Value, from plain: Value) -> [String] {
    zip(Mirror(reflecting: value).children, Mirror(reflecting: plain).children).compactMap { mine, other in
      "\(mine.value)" == "\(other.value)" ? mine.label : nil
    }
  }

  @Test func theFixturesFillEveryField() {
    #expect(differing(Self.policy(), from: EffectivePolicy()) == [])
    #expect(differing(Self.settings(), from: TransferSettings(direction: .download)) == [])
    #expect(differing(Self.progress(), from: TransferProgress()) == [])
    #expect(differing(Self.progress().remote, from: RemoteObject()) == [])
  }

  @Test func settings() throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    var others: [TransferSettings] = [Self.settings(), TransferSettings(direction: .download)]
    for proxy in [
      .none, .environment, .url("none:1"),
      .login(url: "http://p:1", user: "u", password: .command(["a", "b"])),
    ] as [ProxySetting] {
      var settings = TransferSettings(direction: .upload)
      settings.policy.proxy = proxy
      settings.chunkSize = .bytes(1)
      settings.mode = 0
      others.append(settings)
    }
    try ledger.compile(
      others.enumerated().map { index, settings in
        Entry(id: "t\(index)", identity: UInt8(index), settings: settings)
      })
    let read = try ledger.all().map(\.settings)
    for (wanted, got) in zip(others, read) {
      #expect(got.policy == wanted.policy)
      #expect(got == wanted)
    }
    #expect(read.count == others.count)
  }

  @Test func expectations() throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    let all = Expectation(
      digests: Dictionary(uniqueKeysWithValues: DigestAlgorithm.allCases.map { ($0, $0.rawValue) }),
      size: .max, type: "a/b")
    let entries = [all, Expectation(), Expectation(size: 0)].enumerated().map { index, expect in
      Entry(
        id: "e\(index)", source: "files:#?% ü", destination: "./a:b", identity: UInt8(index), expect: expect,
        knownSize: Int64(index))
    }
    try ledger.compile(entries)
    let read = try ledger.all()
    #expect(read.map(\.expect) == entries.map(\.expect))
    #expect(read.map(\.knownSize) == [0, 1, 2])
    #expect(read.allSatisfy { $0.source == .remote(endpoint: "files", path: "#?% ü") })
  }

  @Test func progress() async throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    try ledger.compile([Entry(id: "a"), Entry(id: "b", identity: 2)])
    let writer = LedgerWriter(ledger) { Issue.record("\($0)") }
    writer.submit(.progress(seq: 1, TransferProgress()))
    writer.submit(.progress(seq: 1, Self.progress()))
    writer.submit(.progress(seq: 2, Self.progress()))
    writer.submit(.progress(seq: 2, TransferProgress()))
    let chunks = [
      ChunkRecord(offset: 0, length: 5, digest: "d", receipt: "\"r\"", attempts: 3),
      ChunkRecord(offset: 5, length: 0, digest: ""),
    ]
    for chunk in chunks.reversed() { writer.submit(.chunk(seq: 1, chunk)) }
    try await writer.barrier()
    #expect(try ledger.transfer(1)?.progress == Self.progress())
    #expect(try ledger.transfer(2)?.progress == TransferProgress())
    #expect(try ledger.chunks(of: 1) == chunks)
    try writer.close()
    #expect(try folder.ledger().transfer(1)?.progress == Self.progress())
  }

  /// What is long is not written again: neither later, nor where a group's last word is the short one.
  @Test(arguments: [true, false]) func factsAreWrittenOnce(inOneGroup: Bool) async throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    try ledger.compile([Entry(id: "a"), Entry(id: "b", identity: 2)])
    let writer = LedgerWriter(ledger) { Issue.record("\($0)") }
    var later = Self.progress()
    later.transferred += 1
    later.completedAt = 9
    later.destination?.inode = 77
    var emptied = later
    (emptied.remote, emptied.digests, emptied.verification) = (RemoteObject(), [:], [])
    #expect(later.hasFacts(of: Self.progress()) && !emptied.hasFacts(of: later))
    writer.submit(.progress(seq: 1, Self.progress()))
    if !inOneGroup { try await writer.barrier() }
    writer.submit(.progress(seq: 1, inOneGroup ? later : emptied, isWhole: false))
    // Of this one nothing is there.
    writer.submit(.progress(seq: 2, later, isWhole: false))
    try await writer.barrier()
    #expect(try ledger.transfer(1)?.progress == later)
    #expect(try ledger.transfer(2)?.progress == later)
    try writer.close()
  }

  @Test func everyStateFitsTheTable() async throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    try ledger.compile([Entry(id: "a")])
    let writer = LedgerWriter(ledger) { Issue.record("\($0)") }
    let states: [TransferState] =
      [
        .queued(nil), .queued(.needs("x")), .queued(.failFast), .running, .completed, .upToDate(.adopted),
        .failed,
        .canceled, .skipped(.disabled), .skipped(.exists), .skipped(.needs("y")),
      ] + TransferState.PauseReason.allCases.map { .paused($0) }
    for state in states {
      writer.submit(.state(seq: 1, state))
      try await writer.barrier()
      #expect(try ledger.transfer(1)?.state == state)
      #expect(try ledger.counts().total == 1)
    }
  }
}

extension EffectivePolicy {
  /// How many chunks begin is the destination's to say.
  fileprivate var plain: EffectivePolicy {
    var policy = self
    policy.keepsChunksInFlight = false
    return policy
  }
}
