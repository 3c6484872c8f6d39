import Endpoints
import JobModel
import Testing

@testable import Transfers

struct ChunkSizeChoiceTests {
  private static let mebibyte: Int64 = 1 << 20

  private func choice(
    _ size: Int64, _ chunkSize: ChunkSize = .bytes(8 << 20), budget: Int64? = nil, inFlight: Int = 1,
    of abilities: UploadAbilities = UploadAbilities(resumes: true, order: .any, emptyFile: .noChunks)
  ) -> ChunkSizeChoice {
    var settings = TransferSettings(direction: .upload)
    settings.chunkSize = chunkSize
    settings.policy.budget = budget.map { Budget(bytes: $0, period: .day) }
    (settings.policy.chunksInFlight, settings.policy.transfers) = (inFlight, 1)
    return ChunkSizeChoice(size: size, settings: settings, abilities: abilities)
  }

  private func taken(_ choice: ChunkSizeChoice) throws -> (Int64, [String]) {
    var warnings: [String] = []
    return (try choice.bytes(Place("api:a")) { message, _ in warnings.append(message) }, warnings)
  }

  @Test func theManifestsSize() throws {
    #expect(try taken(choice(100 << 20)) == (8 << 20, []))
  }

  @Test func theSmallerOfTheJobsBudgetAndThePolicys() throws {
    var choice = choice(100 << 20, budget: 8 << 20)
    choice.limits.budget = Budget(bytes: 4 << 20, period: .month)
    #expect(try taken(choice).0 == 2 << 20)
    choice.limits.budget = Budget(bytes: 64 << 20, period: .month)
    #expect(try taken(choice).0 == 4 << 20)
  }

  @Test func whatAutoComesTo() throws {
    var auto = choice(100 << 20, .auto)
    #expect(try taken(auto).0 == 8 << 20)
    auto.limit = 5 << 20
    #expect(try taken(auto).0 == 5 << 20)
    auto.begun = 16 << 20
    #expect(try taken(auto).0 == 16 << 20, "chunks that are there keep their size")
    var fixed = choice(100 << 20)
    fixed.limit = 5 << 20
    #expect(try taken(fixed).0 == 8 << 20, "what the manifest says is asked for")
  }

  @Test func chunksThatHaveToBeHeld() throws {
    var streamed = choice(1 << 30, .bytes(64 << 20))
    streamed.mostHeld = 16 << 20
    #expect(
      try taken(streamed)
        == (
          16 << 20,
          ["chunks are 16777216 bytes in place of 67108864: they are held whole before they are sent"]
        ))
    var automatic = choice(1 << 40, .auto)
    automatic.mostHeld = 16 << 20
    #expect(try taken(automatic) == (16 << 20, []))
  }

  /// A stranger may have told the size.
  @Test func moreChunksThanCanBeKept() throws {
    #expect(throws: Never.self) { try taken(choice(10_000_000 << 10, .bytes(1 << 10))) }
    for size: Int64 in [10_000_001 << 10, 1 << 60, .max] {
      let failure = #expect(throws: Failure.self) { try taken(choice(size, .bytes(1 << 10))) }
      #expect(failure?.code == .protocolViolation && failure?.class == .permanent)
    }
  }

  @Test func damageMakesThemSmaller() throws {
    var smaller = choice(100 << 20)
    smaller.afterDamage = 65_536
    #expect(try taken(smaller) == (65_536, []))
    smaller = choice(
      100 << 20,
      of: UploadAbilities(resumes: true, order: .any, minimumChunk: 5 << 20, emptyFile: .noChunks))
    smaller.afterDamage = 65_536
    #expect(try taken(smaller) == (5 << 20, []))
  }

  @Test func whatTheProtocolTakes() throws {
    let least = UploadAbilities(resumes: true, order: .any, minimumChunk: 10 << 20, emptyFile: .noChunks)
    let (size, warnings) = try taken(choice(100 << 20, of: least))
    #expect(size == 10 << 20)
    #expect(warnings == ["chunks are 10485760 bytes, as the protocol demands, in place of 8388608"])
    #expect(try taken(choice(1 << 20, of: least)).1.isEmpty, "one chunk holds it in any case")
    // One request takes the file whole: nobody asked for that.
    let whole = UploadAbilities(resumes: false, order: .sequential, minimumChunk: .max, emptyFile: .noChunks)
    #expect(try taken(choice(100 << 20, of: whole)).1.isEmpty)
  }

  @Test func aBudget() throws {
    let (size, warnings) = try taken(choice(100 << 20, budget: 8 << 20, inFlight: 4))
    #expect(size == 1 << 20 && warnings.count == 1)
    #expect(try taken(choice(100 << 20, budget: 16_384, inFlight: 4)).0 == 16_384, "no smaller than this")
    #expect(throws: Failure.self) { try taken(choice(100 << 20, budget: 16_383)) }
    // A copy's bytes come and go.
    var (enough, short) = (choice(100, budget: 200), choice(100, budget: 199))
    (enough.isRelayed, short.isRelayed) = (true, true)
    #expect(try taken(enough).1.isEmpty)
    #expect(throws: Failure.self) { try taken(short) }
    let bytes = UploadAbilities(resumes: true, order: .byOffset, emptyFile: .noChunks)
    #expect(try taken(choice(100 << 20, budget: 1, of: bytes)) == (8 << 20, []), "each byte counts there")
  }
}
