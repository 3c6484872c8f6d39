import Testing

@testable import Admission

struct ConnectionCountTests {
  @Test func countsTogetherAndByHost() {
    var count = ConnectionCount()
    func room(_ host: String) -> Bool { count.hasRoom(for: host, total: 3, perHost: 2) }
    for _ in 0..<2 {
      #expect(room("a"))
      count.begin("a")
    }
    #expect(!room("a") && room("b"), "a host has its own share")
    count.begin("b")
    #expect(!room("c"), "all have one together")
    count.end("a")
    #expect(room("a") && room("c"))
    count.end("b")
    count.end("a")
    #expect(count.hasRoom(for: "a", total: 1, perHost: 1))
  }
}
