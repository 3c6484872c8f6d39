/// 64 bits of a name, by which a plan finds names that come twice.
enum NameHash {
  /// FNV-1a over the bytes, then MurmurHash3's finaliser, as single bits choose a partition.
  static func of(_ text: String) -> UInt64 {
    var hash = start
    func add(_ bytes: some Sequence<UInt8>) {
      for byte in bytes { hash = (hash ^ UInt64(byte)) &* prime }
    }
    // In one piece where it lies so, which is faster than byte by byte.
    if text.utf8.withContiguousStorageIfAvailable({ add($0) }) == nil { add(text.utf8) }
    return finished(hash)
  }

  /// The hashes of a path's folders, from the first one down: what `of` gives for the path up to each `/`.
  static func folders(of path: String, _ visit: (_ depth: Int, UInt64) -> Void) {
    var (hash, depth) = (start, 0)
    func add(_ bytes: some Sequence<UInt8>) {
      var isFirst = true
      for byte in bytes {
        if byte == 0x2F, !isFirst {
          visit(depth, finished(hash))
          depth += 1
        }
        isFirst = false
        hash = (hash ^ UInt64(byte)) &* prime
      }
    }
    if path.utf8.withContiguousStorageIfAvailable({ add($0) }) == nil { add(path.utf8) }
  }

  private static let start: UInt64 = 0xCBF2_9CE4_8422_2325
  private static let prime: UInt64 = 0x100_0000_01B3

  private static func finished(_ fnv: UInt64) -> UInt64 {
    var hash = (fnv ^ (fnv >> 33)) &* 0xFF51_AFD7_ED55_8CCD
    hash = (hash ^ (hash >> 33)) &* 0xC4CE_B9FE_1A85_EC53
    return hash ^ (hash >> 33)
  }
}
