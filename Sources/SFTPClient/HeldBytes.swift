import Digests
import Endpoints
import JobModel

/// What has arrived of an upload, read back.
struct HeldBytes {
  let files: SFTPFiles
  let requests: any DirectRequests
  let layout: ChunkLayout

  /// Reads the chunks that may be there whole.
  ///
  /// - Parameters:
  ///   - known: chunks that need no reading.
  ///   - note: told of each chunk that was read.
  /// - Returns: false where there is no such file.
  nonisolated(nonsending) func read(
    _ temporary: SFTPPath, besides known: [Int: HeldChunk], note: (Int, HeldChunk) -> Void
  ) async throws -> Bool {
    let handle: SFTPHandle
    do {
      handle = try await files.open(
        .open(temporary.text, .read, SFTPAttributes()), "read what has arrived of the upload")
    } catch let failure as Failure where failure.code == .notFound {
      return false
    }
    defer { handle.close() }
    let size = try await files.attributes(.handleStat(handle.id), "look at the upload").bytes ?? 0
    let reading = SFTPReading(files: files, handle: handle, requests: requests)
    for index in 0..<layout.count where known[index] == nil {
      let range = layout.range(index)
      guard range.upperBound <= size else { break }
      let digest = try StreamingDigest(.sha256)
      var checksum = CRC64NVME()
      let outcome = try await reading.read(range) { bytes in
        digest.update(bytes)
        checksum.update(bytes)
      }
      guard outcome.end == range.upperBound else { break }
      note(
        index,
        HeldChunk(
          size: Int64(range.count), receipt: SFTPSending.receipt(checksum),
          digests: [.sha256: digest.finishHex()]))
    }
    return true
  }
}
