import Endpoints
import JobModel
import Testing

@testable import Transfers

struct HeldChunksTests {
  private let layout = ChunkLayout(size: 95, chunkSize: 10)

  private func record(_ offset: Int64, _ length: Int64) -> ChunkRecord {
    ChunkRecord(offset: offset, length: length, digest: "")
  }

  private func held(_ ranges: [Range<Int64>]) -> HeldChunks {
    HeldChunks(ranges.map { record($0.lowerBound, Int64($0.count)) })
  }

  @Test(
    arguments: [
      // Held, what is missing of which chunk, whole chunks where bytes count, where chunks do.
      ([], [(0, 0..<10), (1, 10..<20), (9, 90..<95)], 0, 0),
      ([0..<95], [], 10, 1), ([0..<10, 20..<95], [(1, 10..<20)], 1, 2),
      // A part of a chunk; a fill that spans several.
      ([0..<10, 10..<13], [(1, 13..<20), (2, 20..<30)], 1, 2),
      ([0..<25], [(2, 25..<30), (3, 30..<40)], 2, 1),
      ([0..<90], [(9, 90..<95)], 9, 1),
    ] as [([Range<Int64>], [(Int, Range<Int64>)], Int, Int)])
  func missing(_ ranges: [Range<Int64>], _ some: [(Int, Range<Int64>)], _ byBytes: Int, _ records: Int) {
    let held = held(ranges)
    let missing = held.missing(layout, emptyFile: .noChunks)
    for (index, range) in some { #expect(missing.contains(UploadChunk(index: index, range: range))) }
    #expect(missing.reduce(0) { $0 + Int64($1.range.count) } == 95 - held.bytes)
    #expect(held.wholeChunks(layout, order: .byOffset) == byBytes)
    #expect(held.wholeChunks(layout, order: .any) == records)
  }

  @Test func anEmptyFile() {
    let nothing = ChunkLayout(size: 0, chunkSize: 10)
    #expect(HeldChunks().missing(nothing, emptyFile: .noChunks).isEmpty)
    #expect(HeldChunks().missing(nothing, emptyFile: .oneEmptyChunk) == [UploadChunk(index: 0, range: 0..<0)])
    #expect(held([0..<0]).missing(nothing, emptyFile: .oneEmptyChunk).isEmpty)
  }

  @Test func whatIsLostIsMissing() {
    var held = held([0..<10, 10..<20, 20..<30])
    #expect(held.contiguous == 30 && held.bytes == 30 && held.sorted.map(\.offset) == [0, 10, 20])
    held.remove([record(10, 10)])
    #expect(held.contiguous == 10 && held.bytes == 20 && held[10] == nil && held[20] != nil)
    #expect(held == self.held([20..<30, 0..<10]))
    held.insert(record(10, 10))
    #expect(held.contiguous == 30 && !held.isEmpty)
  }
}
