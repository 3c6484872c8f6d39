import Endpoints
import JobModel

/// The chunks of an upload that its server holds. Where a server counts bytes, a record may be a part of a chunk.
struct HeldChunks: Equatable {
  private var records: [Int64: ChunkRecord] = [:]
  private var ranges = ByteRanges()
  /// The byte that the session was taken up at, where its server counts bytes.
  let resumedAt: Int64?

  init(_ records: some Sequence<ChunkRecord> = [], resumedAt: Int64? = nil) {
    self.resumedAt = resumedAt
    for record in records.sorted(by: { $0.offset < $1.offset }) { insert(record) }
  }

  subscript(offset: Int64) -> ChunkRecord? { records[offset] }
  var isEmpty: Bool { records.isEmpty }
  var sorted: [ChunkRecord] { records.values.sorted { $0.offset < $1.offset } }
  /// Bytes in all records.
  var bytes: Int64 { records.values.reduce(0) { $0 + $1.length } }
  /// Bytes from 0 that are held without a gap.
  var contiguous: Int64 { ranges.contiguous }

  mutating func insert(_ record: ChunkRecord) {
    records[record.offset] = record
    ranges.insert(record.range)
  }

  mutating func remove(_ lost: [ChunkRecord]) {
    for record in lost { records[record.offset] = nil }
    self = HeldChunks(records.values, resumedAt: resumedAt)
  }

  /// Chunks that are held whole.
  func wholeChunks(_ layout: ChunkLayout, order: UploadAbilities.Order) -> Int {
    switch order {
    case .any, .sequential: records.count
    case .byOffset: contiguous >= layout.size ? layout.count : Int(contiguous / layout.chunkSize)
    }
  }

  /// What is not held: whole chunks, or what is missing at the end of one.
  func missing(_ layout: ChunkLayout, emptyFile: UploadAbilities.EmptyFile) -> [UploadChunk] {
    guard layout.count > 0 else {
      return emptyFile == .oneEmptyChunk && isEmpty ? [UploadChunk(index: 0, range: 0..<0)] : []
    }
    return ranges.gaps(in: 0..<layout.size).flatMap { gap in
      (Int(gap.lowerBound / layout.chunkSize)...Int((gap.upperBound - 1) / layout.chunkSize)).map {
        UploadChunk(index: $0, range: gap.clamped(to: layout.range($0)))
      }
    }
  }
}
