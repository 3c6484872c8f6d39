import JobModel
import Testing

@testable import TimeZones

struct ZoneTests {
  /// Offset and next change, as Python's zoneinfo has them from tzdata 2025b; those beyond 2037 come from a zone's rule.
  @Test(
    arguments: [
      ("Europe/Berlin", -778_550_400, 7200, -776_563_200),
      ("Europe/Berlin", 323_830_799, 3600, 323_830_800),
      ("Europe/Berlin", 323_830_800, 7200, 338_950_800),
      ("Europe/Berlin", 1_774_745_999, 3600, 1_774_746_000),
      ("Europe/Berlin", 1_774_746_000, 7200, 1_792_890_000),
      ("Europe/Berlin", 1_792_890_000, 3600, 1_806_195_600),
      ("Europe/Berlin", 2_143_238_400, 3600, 2_153_350_800),
      ("Europe/Berlin", 2_855_865_600, 7200, 2_866_410_000),
      ("Europe/Berlin", 4_102_444_799, 3600, 4_109_878_800),
      ("Europe/Berlin", -2_208_988_800, 3600, -1_693_706_400),
      ("Europe/Berlin", -3_786_825_600, 3208, -2_422_054_408),
      ("America/New_York", 1_772_953_199, -18_000, 1_772_953_200),
      ("America/New_York", 1_772_953_200, -14_400, 1_793_512_800),
      ("America/New_York", 2_550_873_600, -14_400, 2_551_327_200),
      ("America/New_York", 2_147_483_648, -18_000, 2_152_162_800),
      ("Australia/Sydney", 1_767_225_600, 39_600, 1_775_318_400),
      ("Australia/Sydney", 2_374_675_200, 36_000, 2_390_400_000),
      ("Australia/Sydney", 2_382_480_000, 36_000, 2_390_400_000),
      ("Europe/Dublin", 1_767_225_600, 0, 1_774_746_000),
      ("Europe/Dublin", 2_571_782_400, 3600, 2_582_154_000),
      ("Asia/Kolkata", -883_612_800, 23_400, -872_058_600),
      ("Asia/Kolkata", 1_767_225_600, 19_800, nil),
      ("Asia/Kolkata", 3_155_760_000, 19_800, nil),
      ("Africa/Casablanca", 1_769_904_000, 3600, 1_771_120_800),
      ("Africa/Casablanca", 1_772_323_200, 0, 1_774_144_800),
      ("Africa/Casablanca", 3_673_728_000, 3600, 3_699_828_000),
      ("Africa/Casablanca", 3_957_724_800, 3600, nil),
      ("America/Santiago", 1_775_358_000, -14_400, 1_788_667_200),
      ("America/Santiago", 2_482_531_200, -14_400, 2_482_977_600),
      ("Australia/Lord_Howe", 1_775_001_600, 39_600, 1_775_314_800),
      ("Australia/Lord_Howe", 2_706_739_200, 39_600, 2_721_826_800),
      ("America/Nuuk", 1_774_656_000, -7200, 1_774_746_000),
      ("America/Nuuk", 2_216_203_200, -7200, 2_216_250_000),
      ("America/Nuuk", 2_235_038_400, -7200, 2_248_304_400),
      ("Asia/Gaza", 1_782_864_000, 10_800, 1_792_796_400),
      ("Asia/Gaza", 3_689_539_200, 7200, 3_699_734_400),
      ("Asia/Gaza", 3_799_958_400, 10_800, 3_812_828_400),
      ("Pacific/Apia", 1_325_239_199, -36_000, 1_325_239_200),
      ("Pacific/Apia", 1_325_239_200, 50_400, 1_333_202_400),
      ("Pacific/Apia", 1_893_456_000, 46_800, nil),
      ("UTC", 1_767_225_600, 0, nil),
      ("EST5EDT", 2_348_352_000, -14_400, 2_362_024_800),
    ] as [(String, Double, Int, Double?)])
  func zone(_ name: String, _ instant: Double, _ offset: Int, _ next: Double?) throws {
    let zone = try #require(TimeZones.named(name))
    #expect(zone.offset(instant) == offset)
    #expect(zone.nextChange(instant) == next)
  }

  @Test(arguments: [
    "", "/", "Europe", "Europe/", "Europe/Nowhere", "../zoneinfo/Europe/Berlin", "Europe/../Europe/Berlin",
    "Europe/./Berlin", "Europe//Berlin", "/usr/share/zoneinfo/Europe/Berlin", "posix/Europe/Berlin",
    "right/Europe/Berlin", "zone.tab", "CET-1CEST",
  ])
  func isNoZone(_ name: String) { #expect(TimeZones.named(name) == nil) }

  @Test func unknownNamesMeanTheMachinesOwn() {
    #expect(TimeZones.find("No/Where").offset(0) == TimeZones.find(nil).offset(0))
  }

  /// Rules, and what they say of two instants: 2026-01-15T00:00Z and 2026-07-15T00:00Z.
  @Test(
    arguments: [
      ("UTC0", 0, 0), ("CET-1CEST,M3.5.0,M10.5.0/3", 3600, 7200), ("CET-1CEST", 3600, 7200),
      ("<+0545>-5:45", 20_700, 20_700), ("AEST-10AEDT,M10.1.0,M4.1.0/3", 39_600, 36_000),
      ("IST-1GMT0,M10.5.0,M3.5.0/1", 0, 3600), ("XXX3EDT4,0/0,J365/23", -14_400, -14_400),
      ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", -7200, -3600), ("EST5EDT,J60,J300", -18_000, -14_400),
      ("EST5EDT,59,299/25:30:15", -18_000, -14_400), ("IST-2IDT,M3.4.4/26,M10.5.0", 7200, 10_800),
    ] as [(String, Int, Int)])
  func rules(_ text: String, _ winter: Int, _ summer: Int) throws {
    let rule = try #require(ZoneRule(text.utf8))
    #expect(rule.offset(at: 1_768_435_200) == winter)
    #expect(rule.offset(at: 1_784_073_600) == summer)
    #expect((rule.nextChange(after: 1_768_435_200) == nil) == (winter == summer))
  }

  @Test(arguments: [
    "", "C", "CE-1", "CET", "CET-25", "CET-1:60", "<CET-1", "CET-1CEST,", "CET-1CEST,M3.5.0",
    "CET-1CEST,M13.1.0,M1.1.0",
    "CET-1CEST,M3.0.0,M10.5.0", "CET-1CEST,M3.5.7,M10.5.0", "CET-1CEST,J0,J365", "CET-1CEST,366,1",
    "CET-1CEST,M3.5.0/168,M10.5.0", "CET-1CEST,M3.5.0,M10.5.0x", "CET-1 CEST", "Europe/Berlin",
  ])
  func isNoRule(_ text: String) { #expect(ZoneRule(text.utf8) == nil) }

  private static func header(_ version: String, types: Int, times: Int, leaps: Int = 0) -> [UInt8] {
    let counts = [0, 0, leaps, times, types, 4]
    return Array("TZif\(version)".utf8) + [UInt8](repeating: 0, count: 15)
      + counts.flatMap { [0, 0, UInt8($0 >> 8), UInt8($0 & 0xFF)] }
  }

  private static let types: [UInt8] = [0, 0, 0, 0, 0, 0] + [0, 0, 0x0E, 0x10, 1, 0]

  /// A file of version 1: no rule, times of 32 bits.
  @Test func oldFiles() throws {
    let file =
      Self.header("\0", types: 2, times: 2) + [0, 0, 0, 100, 0, 0, 1, 0] + [1, 0] + Self.types + [0, 0, 0, 0]
    let zone = try #require(ZoneHistory(file))
    #expect([99, 100, 255, 256].map { zone.offset(at: $0) } == [0, 3600, 3600, 0])
    #expect([0, 100, 256].map { zone.nextChange(after: $0) } == [100, 256, nil])
  }

  @Test func whatIsCutOrWrongIsNoZone() throws {
    let file =
      Self.header("2", types: 1, times: 0) + [0, 0, 0, 0, 0, 0] + [0, 0, 0, 0]
      + Self.header("2", types: 2, times: 1)
      + [0, 0, 0, 0, 0, 0, 0, 100] + [1] + Self.types + [0, 0, 0, 0] + Array("\nCET-1\n".utf8)
    #expect(try #require(ZoneHistory(file)).nextChange(after: 0) == 100)
    for count in 0..<(file.count - 7) { #expect(ZoneHistory(Array(file.prefix(count))) == nil) }
    var wrongKind = file
    wrongKind[106] = 2
    #expect(ZoneHistory(wrongKind) == nil)
    #expect(ZoneHistory(Array(file.dropLast(7)) + Array("\nno rule\n".utf8)) == nil)
    #expect(
      ZoneHistory(
        Self.header("\0", types: 2, times: 0, leaps: 1) + Self.types + [0, 0, 0, 0] + [
          0, 0, 0, 0, 0, 0, 0, 0,
        ]) == nil)
    #expect(ZoneHistory(Self.header("\0", types: 0, times: 0) + [0, 0, 0, 0]) == nil)
    #expect(ZoneHistory(Array("TZif2".utf8) + [UInt8](repeating: 0xFF, count: 200)) == nil)
  }
}
