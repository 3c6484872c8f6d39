import Endpoints
import JobModel
import Testing

/// Numbers of bytes that a server may write: none of them may overflow a sum.
@Suite struct ByteCountTests {
  @Test(
    arguments: [
      ("0", 0), ("9007199254740993", 9_007_199_254_740_993), ("1152921504606846976", 1 << 60),
      ("1152921504606846977", nil), ("9223372036854775807", nil), ("18446744073709551616", nil), ("-1", nil),
      ("+1", nil), ("", nil), ("1e3", nil), ("00000000000000000000007", 7), ("0x10", nil), ("١", nil),
    ] as [(String, Int64?)])
  func read(_ text: String, _ count: Int64?) {
    #expect(ByteCount.read(text) == count)
    #expect(ContentRange("bytes */\(text)")?.total == count)
  }

  @Test(arguments: [1, 100, 1 << 50, Int64.max])
  func layoutsOfAnySizeCount(_ chunk: Int64) {
    for size in [0, 1, 1 << 40, ByteCount.limit] where size / chunk < 1 << 40 {
      let layout = ChunkLayout(size: size, chunkSize: chunk)
      #expect((layout.count == 0) == (size == 0))
      if layout.count > 0 { #expect(layout.range(layout.count - 1).upperBound == size) }
    }
  }
}
