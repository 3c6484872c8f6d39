internal import Posix

/// Notes hashes, and tells at the end which came more than once. Memory stays bounded however many there are: they
/// are parted by their first bits, and full blocks of a part wait in a temporary file for their turn.
final class HashLog {
  private static let parts = 64
  /// Hashes a block: 4 KiB in the file.
  private static let block = 512
  private var waiting: [[UInt64]] = Array(repeating: [], count: parts)
  /// Where the blocks of each part are in the file, in blocks.
  private var written: [[UInt32]] = Array(repeating: [], count: parts)
  private var blocks: UInt32 = 0
  private var file: ScratchFile?
  private var isInMemory = false

  func note(_ hash: UInt64) {
    let part = Int(hash >> 58)
    waiting[part].append(hash)
    if waiting[part].count >= Self.block, !isInMemory { spill(part) }
  }

  /// - Parameters:
  ///   - wanted: hashes to look for.
  ///   - limit: how many that came twice are enough to know.
  func settle(looking wanted: Set<UInt64>, limit: Int) -> (repeated: Set<UInt64>, missing: Set<UInt64>) {
    var repeated: Set<UInt64> = []
    var missing = wanted
    for part in 0..<Self.parts {
      let hashes = all(of: part)
      note(repeatedIn: hashes, in: &repeated, limit: limit)
      if !missing.isEmpty { missing.subtract(hashes) }
    }
    return (repeated, missing)
  }

  /// Hashes that another log has as well.
  ///
  /// - Parameter limit: how many are enough to know.
  func shared(with other: HashLog, limit: Int) -> Set<UInt64> {
    var shared: Set<UInt64> = []
    for part in 0..<Self.parts {
      let mine = all(of: part)
      if mine.isEmpty { continue }
      let known = Set(mine)
      for hash in other.all(of: part) where shared.count < limit && known.contains(hash) {
        shared.insert(hash)
      }
    }
    return shared
  }

  /// By a table with open addresses: a third of the time that sorting takes.
  private func note(repeatedIn hashes: [UInt64], in repeated: inout Set<UInt64>, limit: Int) {
    var size = 1024
    while size < hashes.count * 2 { size *= 2 }
    var table = [UInt64](repeating: 0, count: size)
    var hasZero = false
    for hash in hashes {
      var place = Int(truncatingIfNeeded: hash) & (size - 1)
      while table[place] != 0, table[place] != hash { place = (place + 1) & (size - 1) }
      let isKnown = hash == 0 ? hasZero : table[place] == hash
      if isKnown, repeated.count < limit { repeated.insert(hash) }
      if hash == 0 { hasZero = true } else { table[place] = hash }
    }
  }

  private func spill(_ part: Int) {
    do {
      let file = try file ?? ScratchFile()
      self.file = file
      var bytes: [UInt8] = []
      bytes.reserveCapacity(Self.block * 8)
      for hash in waiting[part] { withUnsafeBytes(of: hash.littleEndian) { bytes += $0 } }
      try file.write(bytes, at: Int(blocks) * Self.block * 8)
      written[part].append(blocks)
      blocks += 1
      waiting[part].removeAll(keepingCapacity: true)
    } catch {
      // A full temporary folder costs memory, not the plan.
      isInMemory = true
    }
  }

  private func all(of part: Int) -> [UInt64] {
    var hashes = waiting[part]
    for block in written[part] {
      guard let bytes = try? file?.read(at: Int(block) * Self.block * 8, count: Self.block * 8) else {
        continue
      }
      bytes.withUnsafeBytes { bytes in
        for start in stride(from: 0, to: bytes.count - 7, by: 8) {
          hashes.append(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: start, as: UInt64.self)))
        }
      }
    }
    return hashes
  }
}
