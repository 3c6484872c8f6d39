import Digests
import Endpoints
import Foundation
import JobModel
import Synchronization
import Testing

/// URLs that a server hands out for chunks: shared among workers, asked for again when they expire, never kept.
struct TicketTests {
  /// A back end in memory. A URL is of a generation; older ones than the current are refused.
  private final class BackEnd: Sendable {
    struct State {
      var generation = 0
      var asked: [[Int]] = []
      var parts: [Int: [UInt8]] = [:]
      var completed: [String] = []
      var puts = 0
    }
    let state = Mutex(State())
    /// URLs expire after so many parts; nil: never.
    let expiresAfter: Int?
    /// Refuses every URL.
    let refusesAll: Bool
    /// Parts that there are never URLs for.
    let withheld: Set<Int>

    init(expiresAfter: Int? = nil, refusesAll: Bool = false, withheld: Set<Int> = []) {
      self.expiresAfter = expiresAfter
      self.refusesAll = refusesAll
      self.withheld = withheld
    }

    func response(_ sent: Sent) -> Reply {
      state.withLock { state in
        if sent.url.host == "store" { return put(sent, &state) }
        guard sent.headers["Authorization"]?.hasPrefix("Bearer ") == true else { return .status(401) }
        let message = (try? JSONSerialization.jsonObject(with: Data(sent.body))) as? [String: Any] ?? [:]
        switch sent.path {
        case "/b/startUpload": return .status(200, [:], #"{"key":"k","uploadId":"u","partSize":1000}"#)
        case "/b/getUploadUrls":
          let parts = message["parts"] as? [Int] ?? []
          state.asked.append(parts)
          let urls = parts.filter { !withheld.contains($0) }.map {
            #""\#($0)":"http://store/k?part=\#($0)&generation=\#(state.generation)&sig=s1gnature""#
          }
          return .status(200, [:], "{\"urls\":{\(urls.joined(separator: ","))}}")
        default:
          state.completed.append(sent.path)
          return .status(200)
        }
      }
    }

    private func put(_ sent: Sent, _ state: inout State) -> Reply {
      guard sent.headers["Authorization"] == nil, sent.headers["X-Team"] == nil else { return .status(400) }
      let fields = (sent.url.query ?? "").split(separator: "&").map { $0.split(separator: "=") }
      guard let part = fields[0].last.flatMap({ Int($0) }), let age = fields[1].last.flatMap({ Int($0) })
      else {
        return .status(400)
      }
      guard !refusesAll, age == state.generation else { return .status(403) }
      state.parts[part] = sent.body
      state.puts += 1
      if let expiresAfter, state.puts % expiresAfter == 0 { state.generation += 1 }
      return .status(200, ["ETag": "\"\((try? Digest.hex(of: sent.body, .md5)) ?? "")\""])
    }
  }

  private func run(_ back: BackEnd, size: Int, flight: Int) async throws -> Rig.Outcome {
    let rig = try Rig(.upload) {
      $0.policy.chunksInFlight = flight
      $0.headers = [HeaderSetting(name: "X-Team", value: .text("media"))]
    }
    try rig.write("src", pattern(size))
    return try await rig.run(from: "src", to: "signed:a", endpoint: .bearer(.environment("T"))) {
      back.response($0)
    }
  }

  @Test(arguments: [1, 2, 4, 9]) func workersShareBatches(_ flight: Int) async throws {
    let back = BackEnd()
    let outcome = try await run(back, size: 16_500, flight: flight)
    #expect(outcome.state == .completed)
    let state = back.state.withLock { $0 }
    #expect(state.asked.flatMap { $0 }.sorted() == Array(1...17), "each part's URL is asked for once")
    #expect(state.asked.allSatisfy { $0.count <= 4 } && state.asked.count <= 8, "\(state.asked)")
    #expect(state.puts == 17 && state.completed == ["/b/complete/u/k"])
    #expect((1...17).flatMap { state.parts[$0] ?? [] } == pattern(16_500))
    #expect(outcome.progress.remoteID == "k")
    #expect(outcome.progress.verification.contains(Verification("etag", .server, .match)))
  }

  /// All workers find their URLs expired, whoever noticed first: nobody takes that for a refusal.
  @Test(arguments: [(1, 1), (1, 2), (2, 3), (4, 5), (4, 8), (9, 12)])
  func expiredTogether(_ flight: Int, _ after: Int) async throws {
    let back = BackEnd(expiresAfter: after)
    let outcome = try await run(back, size: 16_500, flight: flight)
    let state = back.state.withLock { $0 }
    #expect(outcome.state == .completed, "\(String(describing: outcome.progress.failure))")
    #expect(state.puts == 17 && (1...17).flatMap { state.parts[$0] ?? [] } == pattern(16_500))
  }

  @Test func refusedForGood() async throws {
    let back = BackEnd(refusesAll: true)
    let outcome = try await run(back, size: 900, flight: 1)
    #expect(outcome.code == .forbidden && outcome.progress.failure?.message.contains("s1gnature") == false)
    #expect(back.state.withLock { $0.asked } == [[1], [1], [1]])
  }

  @Test func noURLForAPart() async throws {
    let back = BackEnd(withheld: [3])
    let outcome = try await run(back, size: 5000, flight: 2)
    #expect(outcome.code == .protocolViolation)
    #expect(outcome.progress.failure?.message.contains("no URL for part 3") == true)
  }
}
