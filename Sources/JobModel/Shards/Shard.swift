/// One of the parts of a job that machines run apart: `3/16` is the third of sixteen.
package struct Shard: Sendable, Hashable, Comparable {
  /// From 1 on.
  package let index: Int
  package let count: Int

  /// More parts than any engine starts.
  package static let most = 1_000_000

  /// Nil unless `index` is one of `count`.
  package init?(_ index: Int, of count: Int) {
    guard (1...Self.most).contains(count), (1...count).contains(index) else { return nil }
    self.index = index
    self.count = count
  }

  /// Reads `3/16`.
  package init(_ text: String) throws(ValueFault) {
    let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard parts.count == 2, let index = Self.number(parts[0]), let count = Self.number(parts[1]) else {
      throw ValueFault("`\(text)` is not one of so many parts", hint: "like `3/16`, or `auto`")
    }
    guard let shard = Self(index, of: count) else {
      throw ValueFault(
        "`\(text)` is not one of so many parts: the first is 1, the last is the count, and at most \(Self.most) are possible",
        hint: "like `1/16` up to `16/16`")
    }
    self = shard
  }

  /// Reads `3-of-16`, the name of a part's folder; nil for all other texts.
  package init?(folderName: String) {
    let parts = folderName.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    guard parts.count == 3, parts[1].elementsEqual("of".utf8), let index = Self.number(parts[0]),
      let count = Self.number(parts[2]), let shard = Self(index, of: count), shard.folderName == folderName
    else { return nil }
    self = shard
  }

  package var text: String { "\(index)/\(count)" }
  package var folderName: String { "\(index)-of-\(count)" }

  package static func < (one: Shard, other: Shard) -> Bool {
    (one.count, one.index) < (other.count, other.index)
  }

  /// The part's share of something that all parts have together: they differ by 1 at the most and come to the whole,
  /// but for those that get 1 where there is less than one for each.
  package func share(of whole: Int64) -> Int64 {
    let (count, index) = (Int64(count), Int64(index))
    return max(1, whole / count + (index <= whole % count ? 1 : 0))
  }

  /// A decimal number without a sign; nil for all else.
  package static func number(_ text: some Collection<UInt8>) -> Int? {
    guard !text.isEmpty, text.count <= 9, text.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return text.reduce(0) { $0 * 10 + Int($1 - 0x30) }
  }
}
