/// What decides the part of a transfer: a number made of its id's bytes. Its values are frozen: another one would send
/// what is on record of one part to another.
///
/// It is CRC-64/NVME (reflected, polynomial 0xAD93D23594C93659), and the part is the CRC's place on the line from 0 to
/// 2^64, cut into as many equal pieces as there are parts. The CRC is linear: ids that count up fill the pieces more
/// evenly than chance does (a million of them 64 parts within 1 %, where a hash that scatters leaves 2.5 %), and ids
/// without an order do as well as chance.
package enum ShardKey {
  /// The key of an id.
  package static func of(_ id: String) -> UInt64 {
    var crc = UInt64.max
    func add(_ bytes: some Sequence<UInt8>) {
      for byte in bytes { crc = table[Int(UInt8(truncatingIfNeeded: crc) ^ byte)] ^ (crc >> 8) }
    }
    // In one piece where it lies so, which is faster than byte by byte.
    if id.utf8.withContiguousStorageIfAvailable({ add($0) }) == nil { add(id.utf8) }
    return ~crc
  }

  /// The part that a key belongs to, from 1 on.
  package static func part(of key: UInt64, among count: Int) -> Int {
    Int(key.multipliedFullWidth(by: UInt64(count)).high) + 1
  }

  private static let table: [UInt64] = (0..<256).map { byte in
    (0..<8).reduce(UInt64(byte)) { rest, _ in rest & 1 == 1 ? (rest >> 1) ^ 0x9A6C_9329_AC4B_C9B5 : rest >> 1
    }
  }
}

extension Shard {
  /// Whether a transfer is of this part.
  ///
  /// - Parameter key: `ShardKey.of` its id, or its group's.
  package func holds(_ key: UInt64) -> Bool { ShardKey.part(of: key, among: count) == index }
}
