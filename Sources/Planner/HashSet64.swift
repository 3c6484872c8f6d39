/// A set of 64-bit hashes in 8 bytes a slot: open addressing, linear probing, at most 3/4 full.
struct HashSet64 {
  private var slots: [UInt64]
  private(set) var count = 0
  /// Zero marks a free slot, so the hash zero is kept apart.
  private var hasZero = false

  init() { slots = Array(repeating: 0, count: 1024) }

  /// False when the hash is there already.
  mutating func insert(_ hash: UInt64) -> Bool {
    if hash == 0 {
      defer { hasZero = true }
      return !hasZero
    }
    if count * 4 >= slots.count * 3 { grow() }
    let index = slot(of: hash, in: slots)
    guard slots[index] == 0 else { return false }
    slots[index] = hash
    count += 1
    return true
  }

  func contains(_ hash: UInt64) -> Bool {
    hash == 0 ? hasZero : slots[slot(of: hash, in: slots)] == hash
  }

  private func slot(of hash: UInt64, in slots: [UInt64]) -> Int {
    let mask = slots.count - 1
    var index = Int(truncatingIfNeeded: hash) & mask
    while slots[index] != 0, slots[index] != hash { index = (index + 1) & mask }
    return index
  }

  private mutating func grow() {
    var larger = [UInt64](repeating: 0, count: slots.count * 2)
    for hash in slots where hash != 0 { larger[slot(of: hash, in: larger)] = hash }
    slots = larger
  }

  /// FNV-1a over the bytes, then MurmurHash3's finaliser, as the low bits choose the slot.
  static func hash(_ text: String) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    hash = (hash ^ (hash >> 33)) &* 0xFF51_AFD7_ED55_8CCD
    hash = (hash ^ (hash >> 33)) &* 0xC4CE_B9FE_1A85_EC53
    return hash ^ (hash >> 33)
  }
}
