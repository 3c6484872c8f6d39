/// Rows by number, a bit each: a million rows take 125 kB.
package struct RowSet: Sendable, Hashable {
  private var words: [UInt64] = []

  package init() {}

  package mutating func insert(_ seq: Int64) {
    let word = Int(seq >> 6)
    if word >= words.count { words += Array(repeating: 0, count: word - words.count + 64) }
    words[word] |= 1 << UInt64(seq & 63)
  }

  package func contains(_ seq: Int64) -> Bool {
    let word = Int(seq >> 6)
    return word < words.count && words[word] & (1 << UInt64(seq & 63)) != 0
  }
}
