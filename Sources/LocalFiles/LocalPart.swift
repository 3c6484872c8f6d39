import CPosix
import Digests
import Endpoints
import Glibc
import JobModel

/// The part file of one session of a local sink. Behind the bytes it has a mark for each chunk that it holds; one without
/// marks is complete.
struct LocalPart: Sendable {
  private let file: OpenFile
  private let layout: ChunkLayout

  /// - Throws: `SESSION_EXPIRED` where there is no such file.
  init(_ session: RemoteSession, _ source: UploadSource, in folder: Folder, isNew: Bool = false) throws {
    layout = ChunkLayout(size: source.size, chunkSize: session.chunkSize)
    let path = folder.path + "/" + session.id
    let flags = O_RDWR | O_NOFOLLOW | (isNew ? O_CREAT | O_EXCL : 0)
    let descriptor = haul_open_at(folder.descriptor, session.id, flags, 0o600)
    guard descriptor >= 0 else {
      guard errno == ENOENT else { throw FileFault.failure(errno, "open `\(path)`") }
      throw Failure(.sessionExpired, "the part file `\(path)` is gone")
    }
    file = OpenFile(descriptor: descriptor, path: path)
    if isNew { try resize(layout.size + Int64(layout.count)) }
  }

  func write(_ bytes: [UInt8], at offset: Int64) throws {
    try bytes.withUnsafeBytes { try file.write($0, at: offset) }
  }

  func mark(_ index: Int, isHeld: Bool) throws { try write([isHeld ? 1 : 0], at: layout.size + Int64(index)) }

  func digest(_ range: Range<Int64>) throws -> String {
    let digest = try StreamingDigest(.sha256)
    _ = try file.scan(range) { bytes in
      digest.update(bytes)
      return true
    }
    return digest.finishHex()
  }

  /// The marked chunks as they read now: a power cut may have lost bytes, and not their mark.
  func chunks() throws -> [Int: HeldChunk] {
    var chunks: [Int: HeldChunk] = [:]
    for index in try held() {
      let range = layout.range(index)
      chunks[index] = HeldChunk(size: Int64(range.count), digests: [.sha256: try digest(range)])
    }
    return chunks
  }

  private func held() throws -> [Int] {
    let size = try file.facts().size
    // Shorter than the file that it is a part of: a power cut took some.
    guard size >= layout.size else { return [] }
    guard size > layout.size else { return Array(0..<layout.count) }
    let marks = try file.bytes(at: layout.size, count: layout.count)
    return marks.indices.filter { marks[$0] == 1 }
  }

  /// Makes it the file that it is a part of, on the disk.
  func finish() throws -> FileFacts {
    guard try held().count == layout.count else {
      throw Failure(.integrityMismatch, "`\(file.path)` does not hold all chunks yet")
    }
    try resize(layout.size)
    try file.setMode(nil)
    try file.sync()
    return try file.facts()
  }

  private func resize(_ size: Int64) throws {
    guard ftruncate(file.descriptor, off_t(size)) == 0 else {
      throw FileFault.failure(errno, "set the size of `\(file.path)`")
    }
  }
}
