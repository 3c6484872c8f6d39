import Digests
import Endpoints
import JobModel

/// What has arrived of an upload, read back a piece at a time.
struct HeldBytes {
  let files: SFTPFiles
  let requests: any DirectRequests
  let layout: ChunkLayout

  /// Bytes and seconds after which a piece ends: what was read is recorded then.
  private static let (most, longest): (Int64, Double) = (64 << 20, 60)

  /// Reads chunks that may be there whole, and has the server bring them to its disk where it can.
  ///
  /// - Parameters:
  ///   - wants: says which chunks are to be read.
  ///   - now: seconds that grow.
  ///   - note: told of each chunk that was read.
  /// - Returns: whether nothing is left to be read, and whether the server has brought what was read to its disk, which counts
  ///   as so where it knows no such request; nil where there is no such file.
  nonisolated(nonsending) func read(
    _ temporary: SFTPPath, wants: (Int) -> Bool, now: () -> Double, note: (Int, HeldChunk) -> Void
  ) async throws -> (isAll: Bool, isKept: Bool)? {
    let handle: SFTPHandle
    do {
      handle = try await files.open(
        .open(temporary.text, .read, SFTPAttributes()), "read what has arrived of the upload")
    } catch let failure as Failure where failure.code == .notFound {
      return nil
    }
    defer { handle.close() }
    let size = try await files.attributes(.handleStat(handle.id), "look at the upload").bytes ?? 0
    let reading = SFTPReading(files: files, handle: handle, requests: requests)
    let end = now() + Self.longest
    var (count, isAll) = (Int64(0), true)
    for index in 0..<layout.count where wants(index) {
      let range = layout.range(index)
      guard range.upperBound <= size else { break }
      guard count < Self.most, now() < end else {
        isAll = false
        break
      }
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
      count += Int64(range.count)
    }
    var isKept = true
    if count > 0, handle.connection.extensions.contains(.sync),
      case .status(let status) = try await handle.connection.ask(.sync(handle.id), within: files.timeout)
    {
      // Some servers refuse it by a handle that only reads; a failure tells of a disk.
      guard status.code != .failure else {
        throw SFTPFailure.of(status, doing: "bring the upload to its disk", at: files.place)
      }
      isKept = status.code == .ok
    }
    return (isAll, isKept)
  }
}
