import Glibc
import Testing

@testable import DepotServer

/// What survives renewals, restarts, kills and clients at cross purposes.
@Suite struct SessionDurabilityTests {
  private let content = Fixture.bytes(250_000)
  private let chunk = 100_000

  @Test func resumeFromTakesOver() async throws {
    try await Fixture.run { (fixture) async throws in
      let old = try await fixture.create("a", content, chunk: chunk)
      try await fixture.send(old, 1, of: content, chunk: chunk)
      let new = try await fixture.create("a", content, chunk: chunk, resumeFrom: old)
      #expect(try await fixture.received(new) == [1])
      let gone = try await fixture.send(old, 0, of: content, chunk: chunk)
      #expect(gone?.status == 410 && gone?.field("code") == "SESSION_EXPIRED")
      // The answer to that create may have been lost: asked again, nothing is.
      let newer = try await fixture.create("a", content, chunk: chunk, resumeFrom: old)
      #expect(try await fixture.received(newer) == [1])
      let other = try await fixture.create("b", content, chunk: chunk, resumeFrom: newer)
      #expect(try await fixture.received(other) == [])
      for index in [0, 2] { try await fixture.send(newer, index, of: content, chunk: chunk) }
      #expect(try await fixture.finalize(newer)?.field("fileHashSha256") == Fixture.sha256(content))
    }
  }

  /// Nobody asks, and the space comes back all the same.
  @Test func anIdleDepotKeepsNothingThatIsOver() async throws {
    try await Fixture.run(faults: nil, { $0.sessionTTL = .seconds(1) }) { (fixture) async throws in
      let id = try await fixture.create("a", content, chunk: chunk)
      let folder = fixture.root + "/.depot/sessions/" + id
      #expect(access(folder, F_OK) == 0)
      while access(folder, F_OK) == 0 { try await Task.sleep(for: .milliseconds(100)) }
    }
  }

  @Test func expiry() async throws {
    try await Fixture.run(faults: nil, { $0.sessionTTL = .seconds(30) }) { (fixture) async throws in
      var id = try await fixture.create("a", content, chunk: chunk)
      // On a busy machine a session may be over before its first chunk.
      while try await fixture.send(id, 0, of: content, chunk: chunk)?.status != 201 {
        id = try await fixture.create("a", content, chunk: chunk)
      }
      try await Task.sleep(for: .milliseconds(31_100))
      let reply = try await fixture.send(id, 1, of: content, chunk: chunk)
      #expect(reply?.status == 410 && reply?.field("code") == "SESSION_EXPIRED")
      let renewed = try await fixture.create("a", content, chunk: chunk, resumeFrom: id)
      #expect(try await fixture.received(renewed) == [0])
      let unknown = try await fixture.client.send("GET", "/uploads/sessions/us-0")
      #expect(unknown?.status == 404 && unknown?.field("code") == "SESSION_EXPIRED")
    }
  }

  @Test func restartKeepsSessions() async throws {
    try await Fixture.run { (fixture) async throws in
      let id = try await fixture.create("a", content, chunk: chunk)
      try await fixture.send(id, 0, of: content, chunk: chunk)
      try await fixture.send(id, 2, of: content, chunk: chunk)
      await fixture.depot.stop(grace: .zero)
      let journal = ".depot/sessions/\(id)/journal"
      // What a kill in the middle of a journal line leaves.
      fixture.put(journal, (fixture.read(journal) ?? []) + Array("{\"index\":1,\"sha2".utf8))
      var options = DepotOptions(root: fixture.root)
      options.port = 0
      try await Fixture.restart(options) { (again) async throws in
        #expect(try await again.received(id) == [0, 2])
        #expect(try await again.send(id, 1, of: content, chunk: chunk)?.status == 201)
      }
      try await Fixture.restart(options) { (again) async throws in
        #expect(try await again.received(id) == [0, 1, 2])
        #expect(try await again.finalize(id)?.field("fileHashSha256") == Fixture.sha256(content))
      }
      try await Fixture.restart(options) { (again) async throws in
        #expect(try await again.finalize(id)?.field("fileHashSha256") == Fixture.sha256(content))
        #expect(try await again.client.send("GET", "/files/a")?.body == content)
      }
    }
  }

  /// The time in which an expired session can be taken over goes on over a restart.
  @Test func aSessionThatExpiresWhileNobodyServes() async throws {
    try await Fixture.run { (fixture) async throws in
      let id = try await fixture.create("a", content, chunk: chunk)
      try await fixture.send(id, 1, of: content, chunk: chunk)
      await fixture.depot.stop(grace: .zero)
      let folder = fixture.root + "/.depot/sessions/" + id
      var record = try #require(SessionRecord.load(from: folder))
      record.expiresAt = HTTPDate.now - 1
      try record.save(in: folder)
      var options = DepotOptions(root: fixture.root)
      options.port = 0
      try await Fixture.restart(options) { (again) async throws in
        let renewed = try await again.create("a", content, chunk: chunk, resumeFrom: id)
        #expect(try await again.received(renewed) == [1])
      }
    }
  }

  @Test func abortedBodyDoesNotCount() async throws {
    try await Fixture.run { (fixture) async throws in
      let id = try await fixture.create("a", content, chunk: chunk)
      _ = try await fixture.send(id, 0, of: content, chunk: chunk, sendOnly: 70_000)
      #expect(try await fixture.received(id) == [])
      for index in 0...2 { try await fixture.send(id, index, of: content, chunk: chunk) }
      _ = try await fixture.send(id, 0, of: Fixture.bytes(250_000, seed: 5), chunk: chunk, sendOnly: 70_000)
      #expect(try await fixture.finalize(id)?.field("fileHashSha256") == Fixture.sha256(content))
    }
  }

  @Test func sameChunkFromSeveralConnections() async throws {
    try await Fixture.run { (fixture) async throws in
      let id = try await fixture.create("a", content, chunk: chunk)
      try await withThrowingTaskGroup(of: Int.self) { group in
        for attempt in 0..<24 {
          group.addTask {
            try await fixture.send(id, attempt % 3, of: content, chunk: chunk)?.status ?? 0
          }
        }
        for try await status in group { #expect([200, 201, 503].contains(status)) }
      }
      #expect(try await fixture.received(id) == [0, 1, 2])
      async let first = fixture.finalize(id)
      async let second = fixture.finalize(id)
      #expect(try await first?.text == second?.text)
      #expect(fixture.read("a") == content)
    }
  }

  @Test func oneDepotARoot() async throws {
    try await Fixture.run { (fixture) async throws in
      var options = DepotOptions(root: fixture.root)
      options.port = 0
      await #expect(throws: DepotError.self) { _ = try await Depot.start(options) }
    }
  }

  /// Why a port can't be had is told in the system's words.
  @Test func onePortADepot() async throws {
    try await Fixture.run { (fixture) async throws in
      mkdir(fixture.root + "/other", 0o755)
      var options = DepotOptions(root: fixture.root + "/other")
      options.port = fixture.depot.port
      let error = await #expect(throws: DepotError.self) { _ = try await Depot.start(options) }
      #expect(error?.exitCode == 69)
      #expect(error?.description.hasSuffix(":\(options.port): Address already in use") == true)
    }
  }

  @Test func killInTheMiddleOfFinalize() async throws {
    try await Fixture.run { (fixture) async throws in
      let id = try await fixture.create("a", content, chunk: chunk)
      for index in 0...2 { try await fixture.send(id, index, of: content, chunk: chunk) }
      let folder = fixture.root + "/.depot/sessions/" + id
      let open = SessionRecord.load(from: folder)
      let first = try await fixture.finalize(id)
      await fixture.depot.stop(grace: .zero)
      // As if the kill had come after the rename and before the session's record: the data still has its old name.
      let object = fixture.root + "/.depot/objects/" + (first?.field("remoteFileId") ?? "")
      link(object + "/data", folder + "/data")
      try open?.save(in: folder)
      // And a finalize that got no further than the object's folder.
      mkdir(fixture.root + "/.depot/objects/rf-half", 0o700)
      var options = DepotOptions(root: fixture.root)
      options.port = 0
      try await Fixture.restart(options) { (again) async throws in
        #expect(try await again.finalize(id)?.text == first?.text)
        #expect(try await again.client.send("GET", "/files/a")?.body == content)
        #expect(Disk.list(fixture.root).sorted() == [".depot", "a"])
        #expect(Disk.list(fixture.root + "/.depot/objects").count == 1)
      }
    }
  }

  /// Where a kill has come before the session's record, and the client deletes the session in place of another finalize.
  @Test func whatNobodyWasGivenTheIDOf() async throws {
    try await Fixture.run { (fixture) async throws in
      let id = try await fixture.create("a", [], chunk: 1)
      let folder = fixture.root + "/.depot/sessions/" + id
      let open = SessionRecord.load(from: folder)
      #expect(try await fixture.finalize(id)?.status == 200)
      await fixture.depot.stop(grace: .zero)
      try open?.save(in: folder)
      var options = DepotOptions(root: fixture.root)
      options.port = 0
      try await Fixture.restart(options) { (again) async throws in
        #expect(try await again.client.send("DELETE", "/uploads/sessions/\(id)")?.status == 204)
        #expect(Disk.list(fixture.root + "/.depot/objects") == [])
        #expect(again.read("a") == [], "it has its name")
      }
    }
  }

  /// No other name is there for a moment, which a kill would leave there and have served.
  @Test func onlyItsOwnNameAppears() async throws {
    try await Fixture.run { (fixture) async throws in
      mkdir(fixture.root + "/sub", 0o755)
      let watch = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
      defer { close(watch) }
      #expect(inotify_add_watch(watch, fixture.root + "/sub", UInt32(IN_CREATE)) >= 0)
      let id = try await fixture.create("sub/a", [], chunk: 1)
      #expect(try await fixture.finalize(id)?.status == 200)
      #expect(Disk.list(fixture.root + "/sub") == ["a"])
      var event = [UInt8](repeating: 0, count: 4096)
      let count = read(watch, &event, event.count)
      #expect(count < 0, "something was made there, and not moved there whole")
      #expect(Disk.list(fixture.root + "/.depot/objects").count == 1)
    }
  }

  private func record(_ id: String) -> SessionRecord {
    SessionRecord(
      id: id, remoteFileId: "rf-" + id, fileName: id, fileSize: 1, mimeType: "text/plain", chunkSize: 1,
      expiresAt: HTTPDate.now + 3600)
  }

  /// A finalize that looked before the end of another one, and starts behind it, takes nothing back.
  @Test func finalizeBehindAnotherOne() async throws {
    try await Fixture.run { (fixture) async throws in
      let folder = fixture.root + "/apart"
      mkdir(folder, 0o700)
      let root = try FileRoot(folder)
      let pool = BlockingPool(threads: 1)
      let objects = ObjectStore(folder: root.stateFolder + "/objects")
      let publisher = Publisher(
        root: root, objects: objects, digests: DigestCache(folder: root.stateFolder, pool: pool), pool: pool)
      var empty = record("a")
      empty.fileSize = 0
      let session = try UploadSession.create(empty, folder: root.stateFolder + "/sessions/a", pool: pool)
      let first = try await session.finish(claimed: nil, publisher: publisher)
      let second = try await session.finishNow(empty, claimed: nil, publisher: publisher)
      #expect(first.finishedSha256 != nil && second.finishedSha256 == first.finishedSha256)
      #expect(Disk.list(objects.folder(of: empty.remoteFileId)).sorted() == ["data", "meta.json"])
    }
  }

  /// The sweep removes what is over, but for what is becoming a file; a create removes nothing that can still be taken over.
  @Test func aSessionThatEndsWhileItIsFinished() async throws {
    try await Fixture.run { (fixture) async throws in
      let folder = fixture.root + "/apart"
      mkdir(folder, 0o700)
      let store = SessionStore(folder: folder, pool: BlockingPool(threads: 1))
      let (finished, _) = try store.create(record("finished"), resumeFrom: nil)
      let (idle, _) = try store.create(record("idle"), resumeFrom: nil)
      let finishing = Task<Void, Never> {}
      finished.state.withLock { ($0.record.expiresAt, $0.finishing) = (0, finishing) }
      idle.state.withLock { $0.record.expiresAt = 0 }
      _ = try store.create(record("other"), resumeFrom: nil)
      #expect(access(idle.folder, F_OK) == 0)
      store.sweep(grace: 0)
      #expect(access(idle.folder, F_OK) != 0)
      #expect(access(finished.folder, F_OK) == 0)
    }
  }

  /// Sessions of one key are read back in any order: who asks under it again finds the one that goes on.
  @Test(arguments: ["a", "b"]) func anEndedSessionOfTheSameKey(_ live: String) async throws {
    try await Fixture.run { (fixture) async throws in
      let folder = fixture.root + "/apart"
      mkdir(folder, 0o700)
      let pool = BlockingPool(threads: 1)
      func request(_ id: String) -> SessionRecord {
        var record = self.record(id)
        (record.fileName, record.key) = ("file", "k")
        return record
      }
      for id in ["a", "b"] {
        var record = request(id)
        if id != live { record.expiresAt = 1 }
        _ = try UploadSession.create(record, folder: folder + "/" + id, pool: pool)
      }
      let store = SessionStore(folder: folder, pool: pool)
      let (session, isNew) = try store.create(request("new"), resumeFrom: nil)
      #expect(session.id == live && !isNew)
    }
  }

  /// A client that has lost patience renews its session again, while the first answer is still being made.
  @Test func renewalsAtTheSameTime() async throws {
    try await Fixture.run { (fixture) async throws in
      let folder = fixture.root + "/apart"
      mkdir(folder, 0o700)
      let pool = BlockingPool(threads: 8)
      let store = SessionStore(folder: folder, pool: pool)
      let (old, _) = try store.create(record("old"), resumeFrom: nil)
      guard case .write(let lease) = try old.begin(0) else { throw Problem.notFound }
      try old.accept(lease, [UInt8](repeating: 1, count: 32))
      for key in [nil, "k"] as [String?] {
        let renewals = (0..<8).map { number in
          var renewal = record("old")
          (renewal.id, renewal.key) = ("\(key ?? "no key") \(number)", key)
          return renewal
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
          for renewal in renewals {
            group.addTask { _ = try await pool.run { try store.create(renewal, resumeFrom: "old").isNew } }
          }
          try await group.waitForAll()
        }
        let live = renewals.compactMap { try? store.find($0.id) }
        #expect(live.count == 1 && live.first?.received == [0], "\(key ?? "no key")")
      }
    }
  }

  @Test func aSessionThatCannotBeMade() async throws {
    try await Fixture.run { (fixture) async throws in
      var impossible = record("a")
      impossible.fileSize = -1
      let folder = fixture.root + "/apart"
      #expect(throws: SystemError.self) {
        _ = try UploadSession.create(impossible, folder: folder, pool: BlockingPool(threads: 1))
      }
      #expect(access(folder, F_OK) != 0, "nothing of it is left")
    }
  }

  /// Nobody else sent that chunk.
  @Test func aChunkUnderWayWhenItsSessionEnds() async throws {
    try await Fixture.run { (fixture) async throws in
      let pool = BlockingPool(threads: 1)
      for isRenewed in [false, true] {
        let path = fixture.root + "/apart-\(isRenewed)"
        let session = try UploadSession.create(record("a"), folder: path, pool: pool)
        guard case .write(let lease) = try session.begin(0) else { throw Problem.notFound }
        if isRenewed {
          _ = try session.handOver(to: record("a"), folder: path + "-new", pool: pool)
        } else {
          session.remove()
        }
        let problem = #expect(throws: Problem.self) {
          try [7].withUnsafeBytes { try lease.write(UnsafeRawBufferPointer(rebasing: $0[..<1]), at: 0) }
        }
        #expect(problem?.status == 410 && problem?.code == "SESSION_EXPIRED", "renewed: \(isRenewed)")
      }
    }
  }

  /// A full disk tears a line off, and the depot goes on.
  @Test func aLineBehindATornOne() throws {
    let journal = ChunkJournal(path: "/tmp/depot-journal-\(getpid())")
    defer { unlink(journal.path) }
    let digest = [UInt8](repeating: 7, count: 32)
    try journal.create([0: digest])
    let whole = Disk.read(journal.path) ?? []
    Fixture.write(journal.path, whole + whole.prefix(20))
    try journal.append(1, digest)
    #expect(journal.load() == [0: digest, 1: digest])
    #expect(journal.load() == [0: digest, 1: digest], "reading changes nothing")
  }

  @Test func supersededLeaseWritesNothing() throws {
    Fixture.write("/tmp/depot-lease-\(getpid())", [0, 0])
    defer { unlink("/tmp/depot-lease-\(getpid())") }
    let lease = try ChunkLease(index: 0, dataFile: "/tmp/depot-lease-\(getpid())")
    try [7].withUnsafeBytes { try lease.write(UnsafeRawBufferPointer(rebasing: $0[..<1]), at: 0) }
    lease.supersede()
    #expect(throws: Problem.self) { try [9, 9].withUnsafeBytes { try lease.write($0, at: 0) } }
    #expect(Disk.read("/tmp/depot-lease-\(getpid())") == [7, 0])
  }
}
