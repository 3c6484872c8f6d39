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

  /// MiB, but for the rate.
  private static let byRate: [(size: Int64?, rate: Double?, least: Int64, most: Int?, wanted: Int64)] = [
    (1000, 1, 0, nil, 1), (1000, 500_000, 0, nil, 1), (1000, 1e6, 0, nil, 2), (1000, 4e6, 0, nil, 8),
    (1000, 20e6, 0, nil, 32), (1000, 1e9, 0, nil, 64), (1000, .infinity, 0, nil, 64),
    // A protocol's limits count first: S3's 5 MiB and 10,000 parts.
    (1000, 1, 5, 10_000, 8), (200_000, 1, 5, 10_000, 32), (5 << 20, 1, 5, 10_000, 1024),
    // So do records: they are no more than 10,000 until chunks are 64 MiB.
    (100_000, 1, 0, nil, 16), (5 << 20, 1, 0, nil, 64), (nil, 4e6, 0, nil, 8),
    // No rate: as the size says.
    (20_000, nil, 0, nil, 20), (20_000, 0, 0, nil, 20), (20_000, -1, 0, nil, 20), (20_000, .nan, 0, nil, 20),
  ]

  @Test func automaticSizeByRate() {
    let mebibyte: Int64 = 1 << 20
    for (size, rate, least, most, wanted) in Self.byRate {
      let chunk = ChunkLayout.automatic(
        size: size.map { $0 * mebibyte }, rate: rate, least: max(1, least * mebibyte), most: most)
      let what = "\(size ?? -1) MiB at \(rate ?? -1): \(Double(chunk) / Double(mebibyte)) MiB"
      #expect(chunk == wanted * mebibyte, "\(what)")
      // One to four seconds each, where nothing else decides.
      guard let rate, rate >= 1_048_576, rate <= 45e6, size == 1000, least == 0 else { continue }
      #expect((1.0...4.0).contains(Double(chunk) / rate), "\(what)")
    }
  }

  /// Protocols that take a file whole, and numbers at the ends of their types.
  @Test func automaticSizeAtTheEnds() {
    #expect(ChunkLayout.automatic(size: 10, rate: 1, least: .max) == 8 << 20)
    #expect(ChunkLayout.automatic(size: .max, rate: .greatestFiniteMagnitude, most: 1) == 1 << 50)
    #expect(ChunkLayout.automatic(size: -1, rate: .leastNonzeroMagnitude, most: 0) == 1 << 20)
  }
}
