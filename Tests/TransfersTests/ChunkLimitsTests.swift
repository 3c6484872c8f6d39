import Testing

@testable import Transfers

struct ChunkLimitsTests {
  @Test func theLeastOfAnOriginCounts() {
    let limits = ChunkLimits()
    #expect(limits["http://a"] == nil)
    // A server that agrees to one chunk for the whole of a small file has set no limit.
    limits.note("http://a", 100, size: 100)
    limits.note("http://a", 4096, size: 100)
    #expect(limits["http://a"] == nil)
    limits.note("http://a", 16 << 20, size: 1 << 30)
    limits.note("http://a", 32 << 20, size: 1 << 30)
    #expect(limits["http://a"] == 16 << 20)
    limits.note("http://a", 8 << 20, size: 1 << 30)
    #expect(limits["http://a"] == 8 << 20 && limits["http://b"] == nil)
  }
}
