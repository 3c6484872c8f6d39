import Digests
import Endpoints
import JobLedger
import JobModel
import Synchronization
import Testing

/// A store took a whole upload, and no record says so. It gives no checksums: only the parts on record, by their ETags, say
/// that the file is the upload's.
struct LostCloseTests {
  private let content = [UInt8](repeating: 7, count: 5 << 20) + pattern(1 << 10)

  private struct Store {
    var parts: [Int: [UInt8]] = [:]
    var file: [UInt8]?
    var etag = ""
    /// HEAD tells the file's CRC-64/NVME.
    var tellsChecksum = false

    mutating func response(_ sent: Sent) -> Reply {
      let query = sent.url.query ?? ""
      switch sent.method {
      case "POST" where query.hasPrefix("uploads"): return .status(200, [:], "<R><UploadId>u1</UploadId></R>")
      case "PUT":
        parts[parts.count] = sent.body
        return .status(200, ["ETag": "\"\(Self.md5(sent.body))\""])
      case "POST":
        let sums = parts.sorted { $0.key < $1.key }.flatMap { Hex.decode(Self.md5($0.value)) ?? [] }
        etag = "\"\(Self.md5(sums))-\(parts.count)\""
        file = parts.sorted { $0.key < $1.key }.reduce(into: []) { $0 += $1.value }
        return .status(200, [:], "<R><ETag>\(etag)</ETag></R>")
      case "HEAD":
        guard let file else { return .status(404) }
        var headers: HeaderList = ["Content-Length": "\(file.count)", "ETag": etag]
        if tellsChecksum, let sum = try? Digest.bytes(of: file, .crc64nvme) {
          headers.append("x-amz-checksum-crc64nvme", Base64.encode(sum))
        }
        return .status(200, headers)
      case "GET" where file == nil && !parts.isEmpty:
        let list = parts.map { number, body in
          "<Part><PartNumber>\(number + 1)</PartNumber><ETag>\"\(Self.md5(body))\"</ETag><Size>\(body.count)</Size></Part>"
        }
        return .status(200, [:], "<R><IsTruncated>false</IsTruncated>\(list.joined())</R>")
      default: return .status(404, [:], "<Error><Code>NoSuchUpload</Code></Error>")
      }
    }

    private static func md5(_ bytes: [UInt8]) -> String { (try? Digest.hex(of: bytes, .md5)) ?? "" }
  }

  /// - Parameter spoilt: what is recorded of the first part is not what the store has.
  @Test(arguments: [false, true])
  func thePartsOnRecordProveIt(spoilt: Bool) async throws {
    let rig = try Rig(.upload, chunkSize: 5 << 20) {
      $0.verify = .required
      $0.policy.chunksInFlight = 1
    }
    try rig.write("src", content)
    let store = Mutex(Store())
    let response: @Sendable (Sent) -> Reply = { sent in store.withLock { $0.response(sent) } }
    let killed = try await rig.run(from: "src", to: "store:a.bin", stopAt: 5, response: response)
    #expect(killed.sent.map(\.method) == ["HEAD", "POST", "PUT", "PUT", "POST"])
    #expect(store.withLock { $0.file } == content && killed.state == .paused(.interrupted))
    #expect(killed.progress.sessionState == .finalizing && killed.progress.completedAt == nil)
    if spoilt {
      let ledger = try rig.ledger()
      var first = try #require(try ledger.chunks(of: 1).first)
      first.receipt = String(repeating: "0", count: 32)
      let writer = LedgerWriter(ledger) { Issue.record("\($0)") }
      writer.submit(.chunk(seq: 1, first))
      try writer.close()
    }
    let next = try await rig.run(from: "src", to: "store:a.bin", response: response)
    let puts = next.sent.filter { $0.method == "PUT" }.count
    guard !spoilt else { return #expect(puts > 0 || next.state != .completed) }
    #expect(next.state == .completed, "\(String(describing: next.progress.failure))")
    #expect(puts == 0, "nothing is sent again")
    #expect(next.progress.verification.contains(Verification("md5-of-parts", .server, .match)))
  }

  /// `keep` and `fail` ask for no more proof than `replace`: nothing is read back.
  @Test(arguments: [ExistsRule.keep, .fail]) func underAnyRule(_ rule: ExistsRule) async throws {
    func rig() throws -> Rig {
      let rig = try Rig(.upload, chunkSize: 5 << 20) {
        $0.ifExists = rule
        $0.policy.chunksInFlight = 1
      }
      try rig.write("src", content)
      return rig
    }
    let (one, other) = (try rig(), try rig())
    let first = Mutex(Store())
    let whole = try await one.run(from: "src", to: "store:a.bin") { sent in
      first.withLock { $0.response(sent) }
    }
    let closing = try #require(whole.sent.last { $0.method == "POST" })
    let store = Mutex(Store())
    let response: @Sendable (Sent) -> Reply = { sent in store.withLock { $0.response(sent) } }
    let killed = try await other.run(
      from: "src", to: "store:a.bin", stopAt: closing.number, response: response)
    #expect(killed.progress.sessionState == .finalizing && killed.progress.completedAt == nil)
    #expect(store.withLock { $0.file } == content)
    let next = try await other.run(from: "src", to: "store:a.bin", response: response)
    #expect(next.state == .completed, "\(String(describing: next.progress.failure))")
    #expect(!next.sent.contains { $0.method == "PUT" })
    #expect(!next.sent.contains { $0.method == "GET" && ($0.url.query ?? "").isEmpty }, "it is not read back")
    #expect(next.progress.verification.contains(Verification("md5-of-parts", .server, .match)))
  }

  /// A part that only the store's list told of is on record like the others.
  @Test func aRegainedPartIsOnRecord() async throws {
    let rig = try Rig(.upload, chunkSize: 5 << 20) { $0.policy.chunksInFlight = 1 }
    try rig.write("src", content)
    let store = Mutex(Store())
    let response: @Sendable (Sent) -> Reply = { sent in
      var reply = store.withLock { $0.response(sent) }
      // An attempt that is stopped reads no body to its end.
      if sent.method == "PUT" { reply.body = Array("stored".utf8) }
      return reply
    }
    func run(stopAt: Int? = nil) async throws -> Rig.Outcome {
      try await rig.run(from: "src", to: "store:a.bin", stopAt: stopAt, response: response)
    }
    // The store takes the first part, and then the file, and neither answer is on record.
    #expect(try await run(stopAt: 3).sent.map(\.method) == ["HEAD", "POST", "PUT"])
    #expect(try rig.ledger().chunks(of: 1).allSatisfy { $0.receipt == nil })
    let closed = try await run(stopAt: 3)
    #expect(closed.sent.map(\.method) == ["GET", "PUT", "POST"] && closed.state == .paused(.interrupted))
    #expect(store.withLock { $0.file } == content)
    let next = try await run()
    #expect(next.state == .completed, "\(String(describing: next.progress.failure))")
    #expect(!next.sent.contains { $0.method == "PUT" }, "\(next.sent.map(\.method))")
  }

  /// What was copied in parts is known again by the digests on record. That the store repeats what it was sent is no proof.
  @Test func aClosedCopyIsKnownAgain() async throws {
    let source = CopyStore()
    try source.put("a", content)
    func run(_ rig: Rig, stopAt: Int? = nil, _ response: @escaping @Sendable (Sent) -> Reply) async throws
      -> Rig.Outcome
    {
      try await rig.run(from: "other:a", to: "store:a.bin", stopAt: stopAt) {
        $0.url.host == "o" ? source.response($0) : response($0)
      }
    }
    func rig() throws -> Rig { try Rig(.copy, chunkSize: 5 << 20) { $0.policy.chunksInFlight = 1 } }
    let (one, other) = (try rig(), try rig())
    let first = Mutex(Store(tellsChecksum: true))
    let whole = try await run(one) { sent in first.withLock { $0.response(sent) } }
    #expect(whole.state == .completed && first.withLock { $0.file } == content)
    let closing = try #require(whole.sent.last { $0.method == "POST" })
    let store = Mutex(Store(tellsChecksum: true))
    let killed = try await run(other, stopAt: closing.number) { sent in store.withLock { $0.response(sent) } }
    #expect(killed.progress.sessionState == .finalizing && killed.progress.completedAt == nil)
    #expect(store.withLock { $0.file } == content)
    let next = try await run(other) { sent in store.withLock { $0.response(sent) } }
    #expect(next.state == .completed, "\(String(describing: next.progress.failure))")
    #expect(!next.sent.contains { $0.method == "PUT" })
    #expect(next.progress.verification.contains(Verification("size", .server, .match)))
  }

  /// An update that is one request, which the store took behind a stop: the job's own, and no stranger's, from then on.
  @Test(arguments: [ExistsRule.keep, .fail]) func anUpdateThatNobodySawEnd(_ rule: ExistsRule) async throws {
    let rig = try Rig(.upload) { $0.ifExists = rule }
    let there = Mutex<[UInt8]?>(nil)
    func run(_ seed: UInt8, writing: Bool = true, stopAt: Int? = nil) async throws -> Rig.Outcome {
      let bytes = [UInt8](repeating: seed, count: 1000)
      if writing { try rig.write("src", bytes) }
      return try await rig.run(from: "src", to: "store:a.bin", stopAt: stopAt) { sent in
        there.withLock { file in
          if sent.method == "PUT" { file = bytes }
          guard let file else { return .status(404) }
          let tag = (try? Digest.hex(of: file, .md5)) ?? ""
          var reply = Reply.status(200, ["ETag": "\"\(tag)\""])
          // An attempt that is stopped reads no body to its end.
          if sent.method == "PUT" { reply.body = Array("stored".utf8) }
          if sent.method == "HEAD" { reply.headers.append("Content-Length", "\(file.count)") }
          return reply
        }
      }
    }
    #expect(try await run(1).state == .completed)
    let update = try await run(2)
    let put = try #require(update.sent.last { $0.method == "PUT" })
    #expect(update.state == .completed)
    #expect(try await run(3, stopAt: put.number).state == .paused(.interrupted))
    let next = try await run(3, writing: false)
    #expect(
      next.state == .completed && !next.sent.contains { $0.method == "PUT" }, "\(next.sent.map(\.method))")
    #expect(try await run(4).state == .completed)
    #expect(there.withLock { $0 } == [UInt8](repeating: 4, count: 1000))
    // What a stranger puts there is not replaced.
    there.withLock { $0 = [9] }
    let strange = try await run(5)
    #expect(strange.state == (rule == .keep ? .skipped(.exists) : .failed))
    #expect(there.withLock { $0 } == [9])
  }
}
