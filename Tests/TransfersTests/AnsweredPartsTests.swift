import Endpoints
import JobModel
import Synchronization
import Testing

@testable import Transfers

/// A store that answers each part with its checksum, and tells none of the whole (SeaweedFS): what a stopped copy sent is proved
/// by those answers all the same.
struct AnsweredPartsTests {
  private final class Store: Sendable {
    struct State {
      var parts: [Int: [UInt8]] = [:]
      var bytes: [UInt8]?
    }
    let state = Mutex(State())
    /// Parts whose answer has no checksum.
    let silent: Set<Int>

    init(silent: Set<Int>) { self.silent = silent }

    func response(_ sent: Sent) -> Reply {
      let query = sent.url.query ?? ""
      return state.withLock { state in
        switch sent.method {
        case "POST" where query == "uploads=":
          return .status(
            200, [:], "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>")
        case "POST":
          state.bytes = state.parts.sorted { $0.key < $1.key }.flatMap(\.value)
          return .status(
            200, [:], "<CompleteMultipartUploadResult><ETag>\"whole\"</ETag></CompleteMultipartUploadResult>")
        case "PUT":
          let number = query.split(separator: "&").first?.split(separator: "=").last.flatMap { Int($0) } ?? 0
          state.parts[number] = sent.body
          var headers: HeaderList = ["ETag": "\"p\(number)\""]
          if !silent.contains(number), let sum = sent.headers["x-amz-checksum-crc64nvme"] {
            headers.append("x-amz-checksum-crc64nvme", sum)
          }
          return Reply(status: 200, headers: headers)
        case "GET" where query.contains("uploadId="):
          let parts = state.parts.sorted { $0.key < $1.key }.map {
            "<Part><PartNumber>\($0.key)</PartNumber><Size>\($0.value.count)</Size><ETag>\"p\($0.key)\"</ETag></Part>"
          }.joined()
          return .status(
            200, [:], "<ListPartsResult>\(parts)<IsTruncated>false</IsTruncated></ListPartsResult>")
        case "GET" where query.hasPrefix("uploads"):
          return .status(
            200, [:],
            "<ListMultipartUploadsResult><IsTruncated>false</IsTruncated></ListMultipartUploadsResult>")
        default:
          guard let bytes = state.bytes else { return .status(404) }
          return Reply(status: 200, headers: ["Content-Length": "\(bytes.count)", "ETag": "\"whole\""])
        }
      }
    }
  }

  @Test(arguments: [([], "crc64nvme-of-parts"), ([1], nil), ([3], nil)] as [(Set<Int>, String?)])
  func partsOfAnEarlierAttempt(_ silent: Set<Int>, _ check: String?) async throws {
    let (source, store, content) = (CopyStore(), Store(silent: silent), pattern((16 << 20) + 5))
    try source.put("a", content)
    let rig = try Rig(.copy, chunkSize: 6 << 20) {
      $0.policy.retryAttempts = 1; $0.policy.chunksInFlight = 1
    }
    func run(refusing part: Int?) async throws -> Rig.Outcome {
      try await rig.run(from: "other:a", to: "store:c") { sent in
        if sent.url.host == "o" { return source.response(sent) }
        if let part, sent.url.query?.hasPrefix("partNumber=\(part)&") == true { return .status(503) }
        return store.response(sent)
      }
    }
    #expect(try await run(refusing: 3).state == .paused(.retries))
    let end = try await run(refusing: nil)
    #expect(end.state == .completed, "\(String(describing: end.progress.failure))")
    #expect(store.state.withLock { $0.bytes } == content && end.sent.count { $0.method == "PUT" } == 1)
    let proved = end.progress.verification.filter { $0.against == .server && $0.result == .match }
      .map(\.check)
    #expect(proved == ["size"] + (check.map { [$0] } ?? []))
  }
}
