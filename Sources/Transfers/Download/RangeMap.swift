import JobModel

/// Which bytes of a download are here, which are on their way, and what to ask for next.
struct RangeMap {
  private(set) var have = ByteRanges()
  private var taken: [Range<Int64>] = []
  /// Bytes that were here when this attempt began.
  private(set) var reused: Int64 = 0
  /// Bytes that came in this attempt.
  var arrived: Int64 { have.total - reused }
  /// Records of what is here; a chunk that came in two pieces has two.
  private(set) var records = 0
  /// Records that were taken up and not compared with the disk yet; their bytes count until then.
  private(set) var unvouched: [ChunkRecord] = []
  /// The one chunk of a small file, which is recorded only where its verification does not follow at once.
  var unrecorded: ChunkRecord?

  /// Takes up the records of an earlier attempt.
  mutating func takeUp(_ records: [ChunkRecord]) {
    restore(records)
    unvouched = records
  }

  /// The disk holds these of the records that were taken up.
  ///
  /// - Returns: those that it does not hold, which are missing from now on.
  mutating func keep(_ good: [ChunkRecord]) -> [ChunkRecord] {
    let kept = Set(good.map(\.offset))
    let lost = unvouched.filter { !kept.contains($0.offset) }
    unvouched = []
    for record in lost { have.remove(record.range) }
    records -= lost.count
    reused -= lost.reduce(0) { $0 + $1.length }
    return lost
  }

  mutating func restore(_ records: [ChunkRecord]) {
    for record in records { have.insert(record.range) }
    self.records += records.count
    reused += records.reduce(0) { $0 + $1.length }
  }

  mutating func add(_ record: ChunkRecord) {
    // One of a part of the chunk has grown.
    if !have.contains(record.offset..<record.offset + 1) { records += 1 }
    have.insert(record.range)
  }

  /// Takes the next run of missing chunks: several at once for a far server's sake, but not so many that the
  /// workers end far apart.
  ///
  /// - Parameter longest: in chunks.
  mutating func take(size: Int64, chunkSize: Int64, workers: Int, longest: Int64) -> Range<Int64>? {
    var covered = have
    for range in taken { covered.insert(range) }
    guard let gap = covered.gaps(in: 0..<size).first else { return nil }
    let missing = size - covered.total
    let share = missing / Int64(max(1, workers) * 2) / chunkSize
    let span = max(1, min(longest, share)) * chunkSize
    // A run ends at a chunk's end, so that the next one begins at one.
    let end = min(gap.upperBound, (gap.lowerBound / chunkSize) * chunkSize + span)
    let run = gap.lowerBound..<end
    taken.append(run)
    return run
  }

  mutating func giveBack(_ run: Range<Int64>) { taken.removeAll { $0 == run } }

  /// Bytes of a run that are not here.
  func missing(in run: Range<Int64>) -> Int64 {
    have.gaps(in: run).reduce(0) { $0 + Int64($1.count) }
  }

  /// Chunks that are here whole.
  func chunks(size: Int64, chunkSize: Int64) -> Int {
    have.ranges.reduce(0) { count, range in
      let first = (range.lowerBound + chunkSize - 1) / chunkSize
      let last = range.upperBound >= size ? (size + chunkSize - 1) / chunkSize : range.upperBound / chunkSize
      return count + Int(max(0, last - first))
    }
  }

  func isComplete(_ size: Int64) -> Bool { have.contains(0..<size) }
}
