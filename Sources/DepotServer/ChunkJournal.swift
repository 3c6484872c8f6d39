import FoundationEssentials
import Glibc

/// Which chunks a session holds: an append-only file of `{"index":5,"sha256":"…"}` lines.
///
/// A line is one write(2), made after the chunk's bytes were written and their hash was right, so a kill at any
/// instant leaves at worst a torn last line, which counts as not there.
struct ChunkJournal: Sendable {
  private struct Line: Codable {
    var index: Int
    var sha256: String
  }

  let path: String

  func append(_ index: Int, _ digest: [UInt8]) throws {
    try write([index: digest], flags: O_APPEND)
  }

  /// Writes a journal anew.
  func create(_ chunks: [Int: [UInt8]]) throws {
    try write(chunks, flags: O_TRUNC)
  }

  /// Reads the whole lines, and cuts a torn one off so that the next append starts a line of its own.
  func load() -> [Int: [UInt8]] {
    guard var content = Disk.read(path) else { return [:] }
    let end = content.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    if end < content.count {
      truncate(path, off_t(end))
      content.removeSubrange(end...)
    }
    var chunks: [Int: [UInt8]] = [:]
    let decoder = JSONDecoder()
    for text in content.split(separator: UInt8(ascii: "\n")) {
      guard let line = try? decoder.decode(Line.self, from: Data(text)),
        let digest = Hex.decode(line.sha256), digest.count == 32
      else { continue }
      chunks[line.index] = digest
    }
    return chunks
  }

  private func write(_ chunks: [Int: [UInt8]], flags: Int32) throws {
    // A newline goes before each line, too: what a full disk has torn off before spoils none but itself.
    let lines = chunks.map { "\n{\"index\":\($0.key),\"sha256\":\"\(Hex.encode($0.value))\"}\n" }.joined()
    let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0o600)
    guard descriptor >= 0 else { throw SystemError("open \(path)") }
    defer { close(descriptor) }
    try Disk.writeAll(descriptor, Array(lines.utf8))
  }
}
