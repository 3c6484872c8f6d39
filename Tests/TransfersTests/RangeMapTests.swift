import JobModel
import Testing

@testable import Transfers

/// Which bytes are here, and which are asked for next.
struct RangeMapTests {
  private func chunk(_ range: Range<Int64>) -> ChunkRecord {
    ChunkRecord(offset: range.lowerBound, length: Int64(range.count), digest: "00000000")
  }

  private func map(_ ranges: Range<Int64>...) -> RangeMap {
    var map = RangeMap()
    map.restore(ranges.map(chunk))
    return map
  }

  @Test func restoredBytesCountAsReused() {
    let map = map(0..<10, 20..<30)
    #expect(map.have.total == 20 && map.reused == 20 && map.records == 2)
    #expect(map.have.contiguous == 10 && !map.isComplete(30))
  }

  @Test func whatComesIsNotReused() {
    var map = map(0..<10)
    map.add(chunk(10..<20))
    #expect(map.have.total == 20 && map.reused == 10 && map.records == 2 && map.isComplete(20))
  }

  /// Runs end at chunks' ends, share what is missing among the workers, and never overlap.
  @Test(arguments: [
    Runs(workers: 1, longest: 16, ends: [50, 70, 80, 90, 100, 105]),
    Runs(workers: 4, longest: 16, ends: [10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 105]),
    Runs(workers: 1, longest: 1, ends: [10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 105]),
    Runs(workers: 1, longest: 2, ends: [20, 40, 60, 80, 90, 100, 105]),
  ]) func runs(_ runs: Runs) {
    var map = RangeMap()
    var taken: [Range<Int64>] = []
    while let run = map.take(size: 105, chunkSize: 10, workers: runs.workers, longest: runs.longest) {
      taken.append(run)
    }
    #expect(taken.map(\.upperBound) == runs.ends)
    #expect(taken.map(\.lowerBound) == [0] + runs.ends.dropLast())
  }

  struct Runs: Sendable {
    var workers: Int
    var longest: Int64
    var ends: [Int64]
  }

  @Test func whatIsHereOrTakenIsNotTakenAgain() {
    var map = map(0..<10, 20..<30)
    #expect(map.take(size: 40, chunkSize: 10, workers: 2, longest: 16) == 10..<20)
    #expect(map.take(size: 40, chunkSize: 10, workers: 2, longest: 16) == 30..<40)
    #expect(map.take(size: 40, chunkSize: 10, workers: 2, longest: 16) == nil)
    map.giveBack(10..<20)
    #expect(map.take(size: 40, chunkSize: 10, workers: 2, longest: 16) == 10..<20)
  }

  /// What comes of other runs leaves as much of this one.
  @Test func whatIsLeftOfARun() {
    var map = map(0..<10)
    #expect(map.missing(in: 10..<40) == 30)
    map.add(chunk(40..<60))
    #expect(map.missing(in: 10..<40) == 30)
    map.add(chunk(10..<13))
    map.add(chunk(20..<30))
    #expect(map.missing(in: 10..<40) == 17 && map.missing(in: 40..<60) == 0)
  }

  /// A record that grows is one.
  @Test func aPartThatGrows() {
    var map = RangeMap()
    for end in [3, 7, 10] as [Int64] { map.add(chunk(0..<end)) }
    #expect(map.have.ranges == [0..<10] && map.records == 1 && map.arrived == 10)
  }

  /// What was taken up counts at once; what the disk does not hold of it is missing again, wherever the rest has got by then.
  @Test func whatIsTakenUpIsSettled() {
    var map = RangeMap()
    map.takeUp([chunk(0..<10), chunk(10..<13), chunk(20..<30)])
    #expect(map.unvouched.count == 3 && map.reused == 23)
    #expect(map.take(size: 30, chunkSize: 10, workers: 8, longest: 16) == 13..<20)
    map.add(chunk(13..<20))
    map.giveBack(13..<20)
    #expect(map.keep([chunk(20..<30)]) == [chunk(0..<10), chunk(10..<13)])
    #expect(map.have.ranges == [13..<30] && map.reused == 10 && map.arrived == 7 && map.records == 2)
    #expect(map.unvouched.isEmpty && map.keep([]).isEmpty)
    #expect(map.take(size: 30, chunkSize: 10, workers: 8, longest: 16) == 0..<10)
  }

  /// A broken connection leaves half a chunk: the rest of it is the next run.
  @Test func theRestOfAChunkIsARunOfItsOwn() {
    var map = map(0..<13)
    #expect(map.take(size: 100, chunkSize: 10, workers: 8, longest: 16) == 13..<20)
  }

  @Test func onlyWholeChunksAreCounted() {
    #expect(map(0..<25).chunks(size: 105, chunkSize: 10) == 2)
    #expect(map(5..<25).chunks(size: 105, chunkSize: 10) == 1)
    #expect(map(100..<105).chunks(size: 105, chunkSize: 10) == 1, "the last one is shorter")
    #expect(map(0..<105).chunks(size: 105, chunkSize: 10) == 11)
    #expect(map().chunks(size: 0, chunkSize: 10) == 0 && map().isComplete(0))
  }
}
