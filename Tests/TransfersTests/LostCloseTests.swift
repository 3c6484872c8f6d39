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
        return .status(200, ["Content-Length": "\(file.count)", "ETag": etag])
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
}
