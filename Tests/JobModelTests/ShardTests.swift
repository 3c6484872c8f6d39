import JobModel
import Testing

struct ShardTests {
  @Test(arguments: [
    ("1/1", 1, 1), ("3/16", 3, 16), ("16/16", 16, 16), ("03/16", 3, 16), ("1/1000000", 1, 1_000_000),
  ])
  func reads(_ text: String, _ index: Int, _ count: Int) throws {
    let shard = try Shard(text)
    #expect(shard.index == index && shard.count == count)
    #expect(Shard(folderName: shard.folderName) == shard)
  }

  @Test(arguments: [
    "", "/", "3", "3/", "/16", "0/16", "17/16", "-1/16", "+3/16", "3/0", "3/16/2", " 3/16", "3/ 16", "a/b",
    "3/1000001",
    "99999999999999999999/99999999999999999999", "٣/16", "3of16",
  ])
  func refuses(_ text: String) { #expect(throws: ValueFault.self) { try Shard(text) } }

  @Test(arguments: ["", "3-of-", "03-of-16", "3-of-016", "3-OF-16", "17-of-16", "3-of-16.old", "3/16"])
  func foldersOfOtherNamesAreNone(_ name: String) { #expect(Shard(folderName: name) == nil) }

  /// Frozen: another value would send a transfer's record to another part.
  @Test(arguments: [
    ("123456789", 0xAE8B_1486_0A79_9888 as UInt64),
    ("deck", 0x39ED_8976_4244_CB43 as UInt64),
    ("masters/2026/a.mov", 0x9B7C_E17F_8663_2302 as UInt64),
    ("legacy/%C3%A4", 0xB9CF_CC26_8663_4E42 as UInt64),
    ("row/000001", 0x33D1_FBCD_22AC_94D9 as UInt64),
    ("", 0x0000_0000_0000_0000 as UInt64),
  ])
  func keysAreFrozen(_ id: String, _ key: UInt64) { #expect(ShardKey.of(id) == key) }

  @Test(arguments: [
    ("deck", [1, 4, 15, 227]),
    ("masters/2026/a.mov", [2, 10, 39, 608]),
    ("legacy/%C3%A4", [2, 12, 47, 726]),
    ("row/000001", [1, 4, 13, 203]),
    ("", [1, 1, 1, 1]),
  ])
  func partsAreFrozen(_ id: String, _ parts: [Int]) {
    #expect([2, 16, 64, 1000].map { ShardKey.part(of: ShardKey.of(id), among: $0) } == parts)
  }

  @Test func keysReachAllPartsAndNoOther() {
    #expect(ShardKey.part(of: 0, among: 16) == 1 && ShardKey.part(of: .max, among: 16) == 16)
    #expect(ShardKey.part(of: .max, among: Shard.most) == Shard.most)
  }

  /// The largest of 64 parts has at most 2 % more than the mean.
  @Test(arguments: [0, 1, 2, 3, 4])
  func aMillionIdsAreEven(_ form: Int) {
    var counts = [Int](repeating: 0, count: 64)
    for number in 0..<1_000_000 {
      counts[ShardKey.part(of: ShardKey.of(Self.id(number, form)), among: 64) - 1] += 1
    }
    #expect(Double(counts.max() ?? 0) <= 1.02 * 1_000_000 / 64, "\(counts)")
    #expect(Double(counts.min() ?? 0) >= 0.98 * 1_000_000 / 64, "\(counts)")
  }

  private static func id(_ number: Int, _ form: Int) -> String {
    let text = String(number)
    return switch form {
    case 0: "row/" + text
    case 1: "row/" + String(repeating: "0", count: 7 - text.utf8.count) + text
    case 2: "files/\(number / 1000)/\(number % 1000).bin"
    case 3: "x/" + String(number, radix: 16) + ".jpg"
    default: "row/\(text)/\(text)"
    }
  }

  @Test func sharesComeToTheWhole() throws {
    for (whole, count) in [(100, 16), (16, 16), (1_000_003, 64), (7, 1)] as [(Int64, Int)] {
      let shares = try (1...count).map { try #require(Shard($0, of: count)).share(of: whole) }
      #expect(shares.reduce(0, +) == whole && (shares.max() ?? 0) - (shares.min() ?? 0) <= 1)
    }
    // Less than one for each: nobody gets nothing.
    let shares = try (1...16).map { try #require(Shard($0, of: 16)).share(of: Int64(3)) }
    #expect(shares == Array(repeating: 1, count: 16))
  }

  @Test func limitsAreDivided() throws {
    var policy = EffectivePolicy()
    let first = try Shard("1/16")
    #expect(policy.divided(for: first) == policy, "what has no number stays")
    policy.transfers = 33
    policy.connectionsTotal = 64
    policy.downloadRate = .bytesPerSecond(1000)
    policy.budget = Budget(bytes: 160, period: .day)
    policy.schedule = [
      ScheduleEntry(window: TimeWindow(from: 0, to: 60), download: .bytesPerSecond(32), upload: .unlimited)
    ]
    let part = policy.divided(for: first)
    #expect(part.transfers == 3 && part.connectionsTotal == 4 && part.connectionsPerHost == .auto)
    #expect(part.downloadRate == .bytesPerSecond(63) && part.uploadRate == .unlimited)
    #expect(part.budget?.bytes == 10 && part.schedule.first?.download == .bytesPerSecond(2))
    #expect(part.retryAttempts == policy.retryAttempts && part.undivided.limits == policy)
    var limits = JobLimits()
    #expect(limits.divided(for: first) == limits)
    limits.connectionsPerHost = 8
    let divided = limits.divided(for: try Shard("9/16"))
    #expect(divided.connectionsPerHost == 1 && divided.undivided.limits == limits)
  }
}
