import JobModel
import Testing

struct ChunkLayoutTests {
  private func check(_ size: Int64, _ chunkSize: Int64) {
    let layout = ChunkLayout(size: size, chunkSize: chunkSize)
    var position: Int64 = 0
    for index in 0..<layout.count {
      let range = layout.range(index)
      #expect(range.lowerBound == position, "a gap or an overlap: \(size) by \(chunkSize) at \(index)")
      #expect(!range.isEmpty && Int64(range.count) <= chunkSize)
      if index < layout.count - 1 { #expect(Int64(range.count) == chunkSize) }
      position = range.upperBound
    }
    #expect(position == size, "\(size) by \(chunkSize) covers \(position)")
  }

  @Test func chunksCoverTheFileWithoutOverlap() {
    for size: Int64 in [0, 1, 2, 7, 8, 9, 63, 64, 65, 999, 1000, 1001, 65_537] {
      for chunkSize: Int64 in [1, 2, 3, 7, 8, 9, 64, 1000, 65_536, 1 << 40] { check(size, chunkSize) }
    }
    check(5 << 40, 1 << 33)
    check((5 << 40) + 1, 1 << 33)
  }

  @Test func nonsenseIsClamped() {
    #expect(ChunkLayout(size: -4, chunkSize: 8).count == 0)
    #expect(ChunkLayout(size: 4, chunkSize: 0).count == 4)
  }

  @Test func automaticSize() {
    let mebibyte: Int64 = 1 << 20
    for (size, wanted) in [
      (nil, 8), (0, 8), (1, 8), (8000 * mebibyte, 8), (8001 * mebibyte, 9), (20_000 * mebibyte, 20),
      (64_000 * mebibyte, 64), (1 << 42, 64),
    ] as [(Int64?, Int64)] {
      #expect(ChunkLayout.automatic(size: size) == wanted * mebibyte, "size \(String(describing: size))")
    }
  }
}
