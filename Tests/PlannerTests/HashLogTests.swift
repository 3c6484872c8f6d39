import Testing

@testable import Planner

/// Names that come twice are found however many there are, in memory and in the temporary file.
struct HashLogTests {
  @Test(arguments: [10, 1_000, 200_000])
  func findsWhatCameTwice(_ count: Int) {
    let log = HashLog()
    for index in 0..<count { log.note(NameHash.of("name \(index)")) }
    #expect(log.settle(looking: [], limit: 1000).repeated.isEmpty)
    for index in [0, count / 2, count - 1] { log.note(NameHash.of("name \(index)")) }
    let twice = Set([0, count / 2, count - 1].map { NameHash.of("name \($0)") })
    let wanted: Set = [NameHash.of("name 7"), NameHash.of("nobody")]
    let found = log.settle(looking: wanted, limit: 1000)
    #expect(found.repeated == twice)
    #expect(found.missing == [NameHash.of("nobody")])
    #expect(log.settle(looking: [], limit: 2).repeated.count == 2)
  }
}
