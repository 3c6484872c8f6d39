import Testing

@testable import SSH

/// What is taken to be sent at once.
struct OutboxTests {
  @Test func aPieceAtATime() {
    var outbox = Outbox()
    outbox.parts = [[1, 2], [3], [4, 5, 6, 7], [8]]
    #expect(outbox.take(3) == [[1, 2], [3]])
    #expect(outbox.take(3) == [[4, 5, 6, 7]], "one at least")
    #expect(outbox.take(3) == [[8]])
    #expect(outbox.take(3).isEmpty && outbox.parts.isEmpty)
  }
}
