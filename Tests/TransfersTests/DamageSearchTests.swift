import Testing

@testable import Transfers

/// Which ranges of a damaged file are found, by which questions.
struct DamageSearchTests {
  private static let least: Int64 = 16 << 20

  /// Ranges by their ends in MiB.
  private func mebibytes(_ ends: ClosedRange<Int64>...) -> [Range<Int64>] {
    ends.map { $0.lowerBound << 20..<$0.upperBound << 20 }
  }

  /// Asks about a file whose bytes at these offsets are wrong; nothing is known of ranges from `silent` on.
  private func search(
    size: Int64, wrong: [Int64], silent: Int64 = .max
  ) async throws -> (found: [Range<Int64>]?, asked: [Range<Int64>]) {
    var asked: [Range<Int64>] = []
    let found = try await DamageSearch(chunkSize: 1 << 20).ranges(of: size) { range in
      asked.append(range)
      if range.lowerBound >= silent { return .unknown }
      return wrong.contains { range.contains($0) } ? .different : .same
    }
    return (found, asked)
  }

  @Test func whereAllIsWell() async throws {
    let (found, asked) = try await search(size: 300 << 20, wrong: [])
    #expect(found?.isEmpty == true)
    #expect(asked == mebibytes(0...128, 128...256, 256...300))
  }

  @Test func serversWithoutDigestsAreAskedOnce() async throws {
    let (found, asked) = try await search(size: 300 << 20, wrong: [5], silent: 0)
    #expect(found == nil && asked.count == 1)
  }

  /// A range of which a server says nothing is not known to be good.
  @Test func silenceIsNoProof() async throws {
    let (found, _) = try await search(size: 160 << 20, wrong: [], silent: 128 << 20)
    #expect(found == mebibytes(128...144, 144...160))
  }

  @Test(arguments: [0, 1, 7, 8] as [Int64]) func oneBadByteIsNarrowedDown(_ place: Int64) async throws {
    let (found, asked) = try await search(size: 200 << 20, wrong: [place * Self.least + 3])
    #expect(found == [place * Self.least..<(place + 1) * Self.least])
    #expect(asked.count <= 2 + 2 * 3, "\(asked.count) questions for one of eight parts")
  }

  @Test func severalBadBytes() async throws {
    let (found, _) = try await search(size: 200 << 20, wrong: [3, 5 * Self.least, (200 << 20) - 1])
    #expect(
      found == mebibytes(0...16, 80...96, 192...200))
  }

  /// Parts are of whole chunks; a small file is fetched again instead.
  @Test func chunksStayWhole() async throws {
    let search = DamageSearch(chunkSize: 24 << 20)
    #expect(!search.isWorthIt(for: 47 << 20) && search.isWorthIt(for: 48 << 20))
    let found = try await search.ranges(of: 100 << 20) { $0.contains(50 << 20) ? .different : .same }
    #expect(found == mebibytes(48...72))
    #expect(!DamageSearch(chunkSize: 1).isWorthIt(for: 2 * Self.least - 1))
  }
}
