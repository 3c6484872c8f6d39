package import Foundation

/// Makes files whose content follows from a seed alone.
package enum SeededFile {
  private static let blockSize = 1 << 20

  /// Writes `size` bytes to `path`, making its folders.
  package static func make(_ path: String, size: Int, seed: UInt64 = 1) throws {
    try FileManager.default.createDirectory(
      atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    guard FileManager.default.createFile(atPath: path, contents: nil),
      let file = FileHandle(forWritingAtPath: path)
    else { throw TestFault("`\(path)` can't be made") }
    defer { try? file.close() }
    var left = size
    var block = bytes(min(size, blockSize), seed: seed)
    var index: UInt64 = 0
    while left > 0 {
      // Each block is told apart by its first bytes: no two chunks are alike.
      if index > 0 {
        withUnsafeBytes(of: (index &* 0x9E37_79B9).littleEndian) { block.replaceSubrange(0..<8, with: $0) }
      }
      try file.write(contentsOf: left < block.count ? block.prefix(left) : block)
      left -= min(left, block.count)
      index += 1
    }
  }

  /// SplitMix64's output.
  package static func bytes(_ count: Int, seed: UInt64) -> Data {
    var state = seed &* 0xD134_2543_DE82_EF95 &+ 1
    var words = [UInt64](repeating: 0, count: (count + 7) / 8)
    for index in words.indices {
      state &+= 0x9E37_79B9_7F4A_7C15
      var word = state
      word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
      word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
      words[index] = word ^ (word >> 31)
    }
    return words.withUnsafeBytes { Data($0.prefix(count)) }
  }
}
