import Endpoints
import JobModel

/// The parts of a copy that the service makes by itself.
enum ServiceParts {
  /// Up to here a copy is one request: a kill costs no more than it, and no byte of the network's.
  private static let mostAtOnce: Int64 = 1 << 30
  /// A part takes seconds, not the minute after which an answer is no longer waited for.
  private static let part: Int64 = 256 << 20

  /// Bytes a part; the whole where no parts are wanted.
  ///
  /// - Parameter wanted: the manifest's `chunk_size`, which counts where it is another than the standard one.
  static func bytes(of size: Int64, _ wanted: ChunkSize, _ abilities: UploadAbilities) -> Int64 {
    if case .bytes(let bytes) = wanted, wanted != .standard {
      return abilities.chunkSize(wanted: bytes, of: size)
    }
    return size <= mostAtOnce ? max(1, size) : abilities.chunkSize(wanted: part, of: size)
  }
}
