import Endpoints
import Testing

@testable import HTTPClient

/// One request for many who look at files of one folder at the same time.
struct SharedLooksTests {
  private let looks = SharedLooks()
  private let key = SharedLooks.Key(endpoint: "dav", folder: "https://h/dav/in/")

  /// Three who come while the first one asks, and what becomes of each: who asks for others gets `answer`.
  private func three(_ answer: Response?, names: Int?, isWorking: Bool = true) async throws -> [String] {
    try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<3 {
        group.addTask { [looks, key] in
          switch await looks.turn(key) {
          case .told(let response): return "told \(response?.status ?? 0)"
          case .ask(let hasOthers):
            looks.end(key, answer, names: names, isWorking: answer != nil)
            return hasOthers ? "asked for all" : "asked"
          }
        }
      }
      while looks.waiting(key) < 3 { try await Task.sleep(for: .milliseconds(1)) }
      looks.end(key, nil, names: nil, isWorking: isWorking)
      return try await group.reduce(into: []) { $0.append($1) }.sorted()
    }
  }

  private func isFirst() async -> Bool {
    if case .ask(hasOthers: false) = await looks.turn(key) { true } else { false }
  }

  private func answer() throws -> Response {
    Response(head: ResponseHead(status: 207), url: try #require(WebURL(key.folder)))
  }

  @Test func whoComesMeanwhileIsToldByOne() async throws {
    #expect(await isFirst())
    #expect(try await three(try answer(), names: 9) == ["asked for all", "told 207", "told 207"])
    #expect(await isFirst(), "nobody asks any more")
  }

  @Test func whatFailsIsNoReasonToWait() async throws {
    #expect(await isFirst())
    #expect(try await three(nil, names: nil) == ["asked for all", "told 0", "told 0"])
    #expect(await isFirst())
    #expect(try await three(try answer(), names: 1, isWorking: false) == ["told 0", "told 0", "told 0"])
  }

  /// The one who asks may be trying for minutes.
  @Test func whoIsStoppedWaitsForNobody() async throws {
    #expect(await isFirst())
    let stopped = Task { [looks, key] in
      if case .told(nil) = await looks.turn(key) { true } else { false }
    }
    while looks.waiting(key) < 1 { try await Task.sleep(for: .milliseconds(1)) }
    stopped.cancel()
    #expect(await stopped.value && looks.waiting(key) == 0)
    looks.end(key, nil, names: nil, isWorking: true)
    #expect(await isFirst(), "nobody asks any more")
  }

  @Test func aLargeFolderIsNotListedForFew() async throws {
    #expect(await isFirst())
    #expect(try await three(try answer(), names: 10_000) == ["asked for all", "told 207", "told 207"])
    #expect(await isFirst())
    #expect(try await three(try answer(), names: 10_000) == ["told 0", "told 0", "told 0"])
  }

  /// An answer that is longer than is taken is not asked for again and again.
  @Test func anAnswerOfNoUseIsAskedForOnce() async throws {
    #expect(await isFirst())
    #expect(try await three(nil, names: .max) == ["asked for all", "told 0", "told 0"])
    #expect(await isFirst())
    #expect(try await three(nil, names: .max) == ["told 0", "told 0", "told 0"])
  }
}
