import JobModel
import Testing

/// Against a model that keeps a flag a byte.
struct ByteRangesTests {
  private struct Model {
    var here = [Bool](repeating: false, count: 96)

    func gaps(_ whole: Range<Int64>) -> [Range<Int64>] {
      var gaps: [Range<Int64>] = []
      for byte in whole where !here[Int(byte)] {
        if let last = gaps.last, last.upperBound == byte {
          gaps[gaps.count - 1] = last.lowerBound..<(byte + 1)
        } else {
          gaps.append(byte..<(byte + 1))
        }
      }
      return gaps
    }
  }

  @Test(arguments: 0..<40) func randomOperationsAgreeWithTheModel(seed: Int) {
    var random = SplitMix(seed: UInt64(seed))
    var ranges = ByteRanges()
    var model = Model()
    for _ in 0..<60 {
      let start = Int64.random(in: 0..<96, using: &random)
      let range = start..<min(96, start + Int64.random(in: 0..<14, using: &random))
      let isHere = Int.random(in: 0..<4, using: &random) > 0
      if isHere { ranges.insert(range) } else { ranges.remove(range) }
      for byte in range { model.here[Int(byte)] = isHere }
      let probe = Int64.random(in: 0..<48, using: &random)..<Int64.random(in: 48..<96, using: &random)
      #expect(ranges.gaps(in: probe) == model.gaps(probe))
      #expect(ranges.contains(probe) == model.gaps(probe).isEmpty)
      #expect(ranges.contains(range) == (isHere || range.isEmpty))
      #expect(ranges.total == Int64(model.here.count { $0 }))
      #expect(ranges.contiguous == Int64(model.here.prefix { $0 }.count))
      for (left, right) in zip(ranges.ranges, ranges.ranges.dropFirst()) {
        #expect(left.upperBound < right.lowerBound, "adjacent or overlapping ranges are kept")
      }
    }
  }

  @Test func emptyRanges() {
    var ranges = ByteRanges()
    ranges.insert(5..<5)
    #expect(ranges.ranges.isEmpty && ranges.total == 0 && ranges.contiguous == 0)
    #expect(ranges.contains(7..<7))
    #expect(ranges.gaps(in: 3..<3).isEmpty)
    #expect(ranges.gaps(in: 3..<9) == [3..<9])
  }
}

/// A small generator whose runs can be repeated (Steele et al., SplitMix64).
struct SplitMix: RandomNumberGenerator {
  private var state: UInt64
  init(seed: UInt64) { state = seed &+ 0x9e37_79b9 }
  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }
}
