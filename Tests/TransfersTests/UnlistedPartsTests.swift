import Digests
import Endpoints
import JobModel
import Synchronization
import Testing

/// A store that does not say which parts it has, for want of the right or of the request: those on record are not sent again, and
/// are judged when the upload is completed.
struct UnlistedPartsTests {
  private let content = [UInt8](repeating: 7, count: 5 << 20) + pattern(1 << 10)

  private struct Store {
    var opened = 0
    var parts: [Int: [UInt8]] = [:]
    var file: [UInt8]?

    mutating func response(_ sent: Sent, _ listing: Reply) -> Reply {
      let query = sent.url.query ?? ""
      switch sent.method {
      case "POST" where query == "uploads=":
        opened += 1
        parts = [:]
        return .status(200, [:], "<R><UploadId>u\(opened)</UploadId></R>")
      case "PUT":
        parts[query.hasPrefix("partNumber=1&") ? 1 : 2] = sent.body
        let sum = (try? Digest.hex(of: sent.body, .md5)) ?? ""
        return .status(200, ["ETag": "\"\(sum)\""])
      case "POST":
        guard let first = parts[1], let second = parts[2] else {
          return .status(400, [:], "<Error><Code>InvalidPart</Code></Error>")
        }
        file = first + second
        return .status(200, [:], "<R><ETag>\"whole\"</ETag></R>")
      case "HEAD":
        guard let file else { return .status(404) }
        return .status(200, ["Content-Length": "\(file.count)", "ETag": "\"whole\""])
      case "DELETE": return .status(204)
      default: return listing
      }
    }
  }

  /// - Parameter isLost: the store has lost the part on record.
  @Test(arguments: [
    (403, "AccessDenied", false), (405, "MethodNotAllowed", false), (501, "NotImplemented", false),
    (403, "AccessDenied", true),
  ])
  func thePartsOnRecordCount(_ status: Int, _ code: String, isLost: Bool) async throws {
    let rig = try Rig(.upload, chunkSize: 5 << 20) {
      $0.policy.retryAttempts = 1; $0.policy.chunksInFlight = 1
    }
    try rig.write("src", content)
    let store = Mutex(Store())
    let listing = Reply.status(status, [:], "<Error><Code>\(code)</Code></Error>")
    func run(refusesLast: Bool) async throws -> Rig.Outcome {
      try await rig.run(from: "src", to: "store:a.bin") { sent in
        let isLast = sent.method == "PUT" && sent.url.query?.hasPrefix("partNumber=2&") == true
        return isLast && refusesLast ? .status(503) : store.withLock { $0.response(sent, listing) }
      }
    }
    #expect(try await run(refusesLast: true).state == .paused(.retries))
    if isLost { store.withLock { $0.parts = [:] } }
    let next = try await run(refusesLast: false)
    #expect(next.state == .completed, "\(String(describing: next.progress.failure))")
    #expect(store.withLock { $0.file } == content)
    #expect(next.sent.count { $0.method == "PUT" } == (isLost ? 3 : 1))
    #expect(store.withLock { $0.opened } == (isLost ? 2 : 1))
    #expect(next.progress.verification.contains(Verification("md5-of-parts", .server, .match)))
  }
}
