import Testing

@testable import DepotServer

@Suite struct RangeHeaderTests {
  @Test(arguments: [
    (nil, RangeHeader.whole), ("bytes=0-9", .part(ByteRange(offset: 0, count: 10))),
    ("bytes=90-", .part(ByteRange(offset: 90, count: 10))),
    ("bytes=90-1000", .part(ByteRange(offset: 90, count: 10))),
    ("bytes=-10", .part(ByteRange(offset: 90, count: 10))),
    ("bytes=-1000", .part(ByteRange(offset: 0, count: 100))),
    ("BYTES=5-5", .part(ByteRange(offset: 5, count: 1))),
    ("bytes= 5-6 ,", .part(ByteRange(offset: 5, count: 2))),
    ("bytes=100-", .unsatisfiable), ("bytes=-0", .unsatisfiable),
    ("bytes=99999999999999999999-", .unsatisfiable),
    ("bytes=0-99999999999999999999", .part(ByteRange(offset: 0, count: 100))),
    ("bytes=0-1,3-4", .whole), ("bytes=5-4", .whole), ("bytes=a-4", .whole), ("bytes=+1-4", .whole),
    ("items=0-1", .whole), ("bytes=", .whole), ("bytes 0-1", .whole),
  ])
  func parses(text: String?, expected: RangeHeader) {
    #expect(RangeHeader(text, length: 100) == expected)
  }

  @Test func emptyFileHasNoBytesToAskFor() {
    #expect(RangeHeader("bytes=0-", length: 0) == .unsatisfiable)
    #expect(RangeHeader("bytes=-5", length: 0) == .whole)
  }

  @Test(arguments: [
    "bytes 0-9", "bytes 0-9/*", "bytes */10", "bytes=0-9/10", "bytes 9-0/10", "bytes 0-10/10",
    "bytes 0--9/10",
    "bytes -1-9/10", "bytes 0-9/10/11", "octets 0-9/10", "", "bytes 99999999999999999999-9/10",
  ])
  func refusesContentRange(text: String) {
    #expect(ContentRange(text) == nil)
  }

  @Test func readsContentRange() {
    let range = ContentRange("bytes 10-19/100")
    #expect(range?.first == 10 && range?.count == 10 && range?.total == 100)
  }
}
