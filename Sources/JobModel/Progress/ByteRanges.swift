/// A set of byte positions kept as sorted, disjoint, non-adjacent ranges.
package struct ByteRanges: Sendable, Hashable {
  package private(set) var ranges: [Range<Int64>] = []

  package init() {}

  package var total: Int64 { ranges.reduce(0) { $0 + Int64($1.count) } }

  /// Bytes from 0 that are here without a gap.
  package var contiguous: Int64 {
    guard let first = ranges.first, first.lowerBound == 0 else { return 0 }
    return first.upperBound
  }

  package mutating func insert(_ range: Range<Int64>) {
    guard !range.isEmpty else { return }
    // The common case: right behind the last one.
    if let last = ranges.last, range.lowerBound >= last.lowerBound {
      if range.lowerBound > last.upperBound {
        ranges.append(range)
      } else {
        ranges[ranges.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
      }
      return
    }
    var merged = range
    var kept: [Range<Int64>] = []
    for old in ranges {
      if old.upperBound < merged.lowerBound || old.lowerBound > merged.upperBound {
        kept.append(old)
      } else {
        merged = min(old.lowerBound, merged.lowerBound)..<max(old.upperBound, merged.upperBound)
      }
    }
    kept.append(merged)
    ranges = kept.sorted { $0.lowerBound < $1.lowerBound }
  }

  package mutating func remove(_ range: Range<Int64>) {
    guard !range.isEmpty else { return }
    ranges = ranges.flatMap { old in
      old.overlaps(range)
        ? [
          old.lowerBound..<max(old.lowerBound, range.lowerBound),
          min(old.upperBound, range.upperBound)..<old.upperBound,
        ].filter { !$0.isEmpty } : [old]
    }
  }

  package func contains(_ range: Range<Int64>) -> Bool {
    if range.isEmpty { return true }
    var low = 0
    var high = ranges.count
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound <= range.lowerBound { low = middle + 1 } else { high = middle }
    }
    guard low < ranges.count else { return false }
    return ranges[low].lowerBound <= range.lowerBound && range.upperBound <= ranges[low].upperBound
  }

  /// The parts of `whole` that are not here, in order.
  package func gaps(in whole: Range<Int64>) -> [Range<Int64>] {
    var gaps: [Range<Int64>] = []
    var position = whole.lowerBound
    for range in ranges where range.upperBound > whole.lowerBound && range.lowerBound < whole.upperBound {
      if range.lowerBound > position { gaps.append(position..<range.lowerBound) }
      position = max(position, range.upperBound)
    }
    if position < whole.upperBound { gaps.append(position..<whole.upperBound) }
    return gaps
  }
}
