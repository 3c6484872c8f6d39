/// 64 bits of a name, by which a plan finds names that come twice.
enum NameHash {
  /// FNV-1a over the bytes, then MurmurHash3's finaliser, as single bits choose a partition.
  static func of(_ text: String) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    func add(_ bytes: some Sequence<UInt8>) {
      for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    }
    // In one piece where it lies so, which is faster than byte by byte.
    if text.utf8.withContiguousStorageIfAvailable({ add($0) }) == nil { add(text.utf8) }
    hash = (hash ^ (hash >> 33)) &* 0xFF51_AFD7_ED55_8CCD
    hash = (hash ^ (hash >> 33)) &* 0xC4CE_B9FE_1A85_EC53
    return hash ^ (hash >> 33)
  }
}
