import Glibc

/// What the kernel has yet to write, of all programs together (proc(5), `/proc/meminfo`).
enum DirtyPages {
  /// KiB that any disk writes within a second or two.
  private static let few = 256 * 1024

  /// Little enough for a sync of a whole file system not to wait for others' work; false where it can't be known.
  static var areFew: Bool {
    guard let file = fopen("/proc/meminfo", "re") else { return false }
    defer { fclose(file) }
    var text = [UInt8](repeating: 0, count: 8192)
    let count = fread(&text, 1, text.count, file)
    return total(String(decoding: text[..<count], as: UTF8.self)).map { $0 <= few } ?? false
  }

  /// KiB, dirty and being written; nil where the text names either not.
  package static func total(_ text: String) -> Int? {
    var (found, total) = (0, 0)
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ")
      guard words.count >= 2, ["Dirty:", "Writeback:"].contains(words[0]), let value = Int(words[1]) else {
        continue
      }
      (found, total) = (found + 1, total + value)
    }
    return found == 2 ? total : nil
  }
}
