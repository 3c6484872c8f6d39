import Endpoints
import JobModel
import Synchronization
import Testing

@testable import Transfers

/// What is reported of attributes is what the object has, whichever attempt sent it.
struct UploadAttributesTests {
  private static let part: Int64 = 5 << 20
  /// Two parts.
  private static let large = [UInt8](repeating: 7, count: Int(part)) + pattern(1000)

  private static func store(_ bytes: [UInt8]) -> FakeStore {
    let store = FakeStore()
    store.put(
      "h/b/src", bytes, ["Content-Type": "text/x", "x-amz-tagging": "t=v", "x-amz-meta-owner": "anna"])
    return store
  }

  private static func rig(_ preserve: PreserveRule) throws -> Rig {
    try Rig(.copy, chunkSize: part) {
      $0.policy.chunksInFlight = 1
      $0.preserve = preserve
    }
  }

  private static func run(
    _ rig: Rig, _ store: FakeStore, stopped: Bool = false, saying words: [String: String] = [:],
    changing change: (inout TransferSettings) -> Void = { _ in }
  ) async throws -> Rig.Outcome {
    try await rig.run(
      from: "store:src", to: "other:dst", objectWords: words, changing: change,
      stopAfter: { event in
        guard stopped, case .chunk = event else { return false }
        return true
      }, response: { store.response($0) })
  }

  /// Tags that the store refused when the session was opened are lost, also where a later attempt goes on with it.
  @Test func whatWasRefusedStaysLost() async throws {
    let (rig, store) = (try Self.rig(.available), Self.store(Self.large))
    store.state.withLock { $0.refusesTags = true }
    let killed = try await Self.run(rig, store, stopped: true)
    #expect(killed.state == .paused(.interrupted) && killed.progress.session != nil)
    #expect(killed.progress.attributes.lost == [.tags])
    let next = try await Self.run(rig, store)
    #expect(next.state == .completed, "\(String(describing: next.progress.failure))")
    #expect(store.state.withLock { $0.opened } == 1 && store["o/b/dst"]?.bytes == Self.large)
    #expect(next.progress.attributes.lost == [.tags])
    #expect(next.progress.attributes.preserved == [.contentType, .metadata])
  }

  /// A session is told of its object when it is opened: one that was told otherwise is not gone on with.
  @Test func anEditedManifest() async throws {
    let (rig, store) = (try Self.rig(.available), Self.store(Self.large))
    let killed = try await Self.run(rig, store, stopped: true) { $0.preserve = .none }
    #expect(killed.state == .paused(.interrupted) && killed.progress.session != nil)
    let next = try await Self.run(rig, store) { $0.given.metadata = ["team": "blue"] }
    #expect(next.state == .completed, "\(String(describing: next.progress.failure))")
    let object = try #require(store["o/b/dst"])
    #expect(object.headers["x-amz-meta-owner"] == "anna" && object.headers["x-amz-meta-team"] == "blue")
    #expect(object.bytes == Self.large && object.tags == ["t=v"])
    #expect(next.progress.attributes.preserved == [.contentType, .metadata, .tags])
    #expect(store.state.withLock { $0.opened == 2 && $0.aborted == 1 && $0.uploads.isEmpty })
  }

  /// So is what its endpoint says of all objects.
  @Test(arguments: [true, false]) func anEditedEndpoint(_ isEdited: Bool) async throws {
    let (rig, store) = (try Self.rig(.available), Self.store(Self.large))
    let killed = try await Self.run(rig, store, stopped: true, saying: ["acl": "private"])
    #expect(killed.state == .paused(.interrupted) && killed.progress.session != nil)
    let next = try await Self.run(rig, store, saying: ["acl": isEdited ? "public-read" : "private"])
    #expect(next.state == .completed, "\(String(describing: next.progress.failure))")
    #expect(store.state.withLock { $0.opened == (isEdited ? 2 : 1) && $0.aborted == (isEdited ? 1 : 0) })
    let isTold = next.events.contains { event in
      guard case .diagnostic(let diagnostic) = event else { return false }
      return diagnostic.message.contains("it starts anew")
    }
    #expect(isTold == isEdited)
  }

  /// A value from the environment may be another one in each attempt: its name counts.
  @Test func valuesOfTheEnvironment() async throws {
    let (rig, store) = (try Self.rig(.available), Self.store(Self.large))
    func run(_ build: String, stopped: Bool) async throws -> Rig.Outcome {
      try await Self.run(rig, store, stopped: stopped) {
        $0.given.metadata = ["build": build]
        $0.given.written = ["metadata.build": "${env.BUILD}"]
      }
    }
    _ = try await run("1", stopped: true)
    #expect(try await run("2", stopped: false).state == .completed)
    #expect(store.state.withLock { $0.opened == 1 && $0.aborted == 0 })
  }

  /// A session that an earlier version opened tells nothing to compare: it is gone on with.
  @Test func aSessionOfAnEarlierVersion() async throws {
    let (rig, store) = (try Self.rig(.available), Self.store(Self.large))
    _ = try await Self.run(rig, store, stopped: true)
    try await rig.alter { progress in
      progress.session?.facts[SessionOpening.said] = nil
      progress.session?.facts["said"] = "another digest"
    }
    #expect(try await Self.run(rig, store).state == .completed)
    #expect(store.state.withLock { $0.opened == 1 && $0.aborted == 0 })
  }

  /// The version that was begun with is copied on, and its session is gone: what is opened anew is told the same of it. A
  /// version that is gone as well leaves the object that has the name now.
  @Test(arguments: [(1, false), (2, false), (2, true)])
  func aVersionWhoseSessionIsGone(_ stops: Int, _ isGone: Bool) async throws {
    let (rig, store) = (try Self.rig(.available), FakeStore())
    func put(_ bytes: [UInt8], _ owner: String, version: String) {
      store.put(
        "h/b/src", bytes,
        [
          "Content-Type": "text/x", "Cache-Control": "max-age=\(owner.count)", "x-amz-tagging": "t=\(owner)",
          "x-amz-meta-owner": owner,
        ], version: version)
    }
    put(Self.large, "anna", version: "1")
    let killed = try await Self.run(rig, store, stopped: true)
    #expect(killed.state == .paused(.interrupted) && killed.progress.session != nil)
    let newer: [UInt8] = Self.large.reversed()
    put(newer, "bo", version: "2")
    if stops > 1 {
      let again = try await rig.run(from: "store:src", to: "other:dst") { sent in
        sent.method == "PUT" ? .status(500) : store.response(sent)
      }
      #expect(again.state == .paused(.retries) && again.progress.sourceObject?.isPinned == true)
    }
    store.state.withLock {
      $0.uploads = [:]
      if isGone { $0.versions["h/b/src?1"] = nil }
    }
    let next = try await Self.run(rig, store)
    #expect(next.state == .completed, "\(String(describing: next.progress.failure))")
    let (object, owner) = (try #require(store["o/b/dst"]), isGone ? "bo" : "anna")
    #expect(object.bytes == (isGone ? newer : Self.large) && object.tags == ["t=\(owner)"])
    #expect(object.headers["x-amz-meta-owner"] == owner && object.headers["Content-Type"] == "text/x")
    #expect(object.headers["Cache-Control"] == "max-age=\(owner.count)")
    #expect(next.progress.attributes.preserved == [.contentType, .contentHeaders, .metadata, .tags])
    #expect(next.progress.attributes.lost.isEmpty && store.state.withLock { $0.opened == 2 })
  }

  /// A source that is replaced while it is copied: all that is said of the object is the new one's.
  @Test(arguments: [PreserveRule.available, .none]) func aSourceThatIsReplaced(_ rule: PreserveRule)
    async throws
  {
    let (rig, store) = (try Self.rig(rule), Self.store(Self.large))
    let newer: [UInt8] = Self.large.reversed()
    let outcome = try await rig.run(from: "store:src", to: "other:dst") { sent in
      let isSecond = sent.headers["Range"]?.hasPrefix("bytes=\(Self.part)-") == true
      if isSecond, store["h/b/src"]?.bytes != newer {
        store.put("h/b/src", newer, ["Content-Type": "text/z", "x-amz-meta-owner": "bo"])
      }
      return store.response(sent)
    }
    #expect(outcome.state == .completed, "\(String(describing: outcome.progress.failure))")
    let (object, isKept) = (try #require(store["o/b/dst"]), rule == .available)
    #expect(object.bytes == newer && object.tags.isEmpty)
    #expect(object.headers["Content-Type"] == (isKept ? "text/z" : "application/octet-stream"))
    #expect(object.headers["x-amz-meta-owner"] == (isKept ? "bo" : nil))
    #expect(outcome.progress.attributes.preserved == (isKept ? [.contentType, .metadata] : []))
  }

  /// Words of rows may be others in each attempt: the upload comes to its end all the same.
  @Test func wordsThatAlwaysChange() async throws {
    let (rig, store) = (try Self.rig(.available), Self.store(Self.large))
    for attempt in ["1", "2", "3"] {
      _ = try await Self.run(rig, store, stopped: true) { $0.given.metadata = ["try": attempt] }
    }
    let last = try await Self.run(rig, store) { $0.given.metadata = ["try": "4"] }
    #expect(last.state == .completed, "\(String(describing: last.progress.failure))")
    #expect(store.state.withLock { $0.opened == 2 && $0.aborted == 1 && $0.uploads.isEmpty })
  }

  /// A store that answers with the object where its tags are asked for has none, and is not read to the end.
  @Test(arguments: [100, 100_000]) func anObjectInPlaceOfItsTags(_ size: Int) async throws {
    let (rig, store) = (try Self.rig(.available), FakeStore())
    store.put("h/b/src", pattern(size), ["Content-Type": "text/x"])
    store.state.withLock { $0.knowsNoTags = true }
    let outcome = try await Self.run(rig, store)
    #expect(outcome.state == .completed, "\(String(describing: outcome.progress.failure))")
    #expect(outcome.progress.attributes.preserved == [.contentType])
    #expect(outcome.progress.attributes.lost.isEmpty, "there are none")
    #expect(outcome.sent.count { $0.url.query == "tagging=" } == 1)
  }

  /// Where the destination keeps no tags, no request is spent on them.
  @Test(arguments: ["", "t=v"]) func tagsThatNobodyKeeps(_ tags: String) async throws {
    let (rig, store) = (try Self.rig(.available), FakeStore())
    store.put("h/b/src", pattern(100), ["Content-Type": "text/x", "x-amz-tagging": tags])
    let outcome = try await rig.run(from: "store:src", to: "web:dst") { store.response($0) }
    #expect(outcome.state == .completed, "\(String(describing: outcome.progress.failure))")
    #expect(outcome.progress.attributes.lost == [.tags])
    #expect(!outcome.sent.contains { $0.url.query == "tagging=" })
  }

  /// Values of the run are other ones in each run, and not the manifest's.
  @Test func whatIsSaidOfAnObject() async throws {
    func said(_ change: (inout TransferSettings) -> Void) async throws -> String? {
      let bench = try UploadBench(source: [1], change: change)
      return try SessionOpening(scope: bench.scope, source: try bench.sending()).said()
    }
    let plain = try await said { _ in }
    #expect(try await said { $0.chunkSize = .bytes(7) } == plain)
    #expect(try await said { $0.contentType = "text/y" } != plain)
    // The web keeps a type alone.
    let mtime = try PreserveRule(["content_type", "mtime"])
    #expect(try await said { $0.preserve = mtime } == plain)
    #expect(try await said { $0.preserve = .none } != plain)
    let ofRun = try await said { $0.given.metadata = ["by": "01RUN"] }
    #expect(try await said { $0.given.metadata = ["by": "${run.id}"] } == ofRun)
    #expect(try await said { $0.given.metadata = ["by": "me"] } != ofRun)
    let header = try await said { $0.headers = [HeaderSetting(name: "X-A", value: .text("1"))] }
    #expect(try await said { $0.headers = [HeaderSetting(name: "x-a", value: .text("1"))] } == header)
    #expect(try await said { $0.headers = [HeaderSetting(name: "X-A", value: .text("2"))] } != header)
    #expect(header != plain)
    let secret = HeaderSetting(name: "X-A", value: .secret(.environment("A")))
    #expect(try await said { $0.headers = [secret] } == plain)
  }

  /// The same bytes are there: they are adopted where they have what may not be lost, and else replaced.
  @Test(arguments: ["t=v", "t=w", ""]) func whatIsThereAlready(_ tags: String) async throws {
    let (rig, store) = (try Self.rig(try PreserveRule(["tags!"])), Self.store(pattern(100)))
    store.put("o/b/dst", pattern(100), ["x-amz-tagging": tags])
    let outcome = try await Self.run(rig, store)
    #expect(outcome.state == (tags == "t=v" ? .upToDate(.adopted) : .completed))
    #expect(outcome.sent.contains { $0.method == "PUT" } == (tags != "t=v"))
    #expect(store["o/b/dst"]?.tags == ["t=v"] && outcome.progress.attributes.preserved == [.tags])
    #expect(outcome.progress.attributes.lost.isEmpty)
  }

  /// The same bytes are there, as another tool has stored them: they are adopted, and what they lack is said.
  @Test(arguments: [true, false]) func whatAnAdoptedObjectLacks(_ hasAll: Bool) async throws {
    let (rig, store) = (try Self.rig(.available), Self.store(pattern(100)))
    var headers: HeaderList = ["Content-Type": "text/x"]
    if hasAll {
      headers.append("x-amz-tagging", "t=v")
      headers.append("x-amz-meta-owner", "anna")
    }
    store.put("o/b/dst", pattern(100), headers)
    let outcome = try await Self.run(rig, store)
    #expect(outcome.state == .upToDate(.adopted) && !outcome.sent.contains { $0.method == "PUT" })
    let kept = outcome.progress.attributes
    #expect(kept.preserved == (hasAll ? [.contentType, .metadata, .tags] : [.contentType]))
    #expect(kept.lost == (hasAll ? [] : [.metadata, .tags]))
  }

  /// What the transfer itself gives its object is moved for, and is there for the next job.
  @Test func whatTheManifestGives() async throws {
    let changes: [(change: (inout TransferSettings) -> Void, isTold: Bool)] = [
      ({ $0.given.metadata = ["team": "blue"] }, true), ({ $0.given.tags = ["t": "w"] }, true),
      ({ $0.contentType = "text/y" }, true), ({ $0.given.storageClass = "STANDARD" }, true),
      // The fake tells no class.
      ({ $0.given.storageClass = "STANDARD_IA" }, false),
    ]
    for (number, (change, isTold)) in changes.enumerated() {
      let store = Self.store(pattern(100))
      store.put(
        "o/b/dst", pattern(100),
        ["Content-Type": "text/x", "x-amz-tagging": "t=v", "x-amz-meta-owner": "anna"])
      let first = try await Self.run(try Self.rig(.available), store, changing: change)
      #expect(first.state == (number == 3 ? .upToDate(.adopted) : .completed), "\(number)")
      let next = try await Self.run(try Self.rig(.available), store, changing: change)
      #expect(next.state == (isTold ? .upToDate(.adopted) : .completed), "\(number)")
    }
  }
}
