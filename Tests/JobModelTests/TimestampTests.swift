import JobModel
import Testing

struct TimestampTests {
  @Test func knownTimes() {
    for (seconds, text) in [
      (0, "1970-01-01T00:00:00.000Z"), (-0.001, "1969-12-31T23:59:59.999Z"),
      (951_782_400, "2000-02-29T00:00:00.000Z"), (951_868_799.999, "2000-02-29T23:59:59.999Z"),
      (951_868_800, "2000-03-01T00:00:00.000Z"), (1_709_164_800, "2024-02-29T00:00:00.000Z"),
      (4_107_542_400, "2100-03-01T00:00:00.000Z"), (4_107_456_000, "2100-02-28T00:00:00.000Z"),
      (1_234_567_890.5, "2009-02-13T23:31:30.500Z"), (253_402_300_799, "9999-12-31T23:59:59.000Z"),
      (-2_208_988_800, "1900-01-01T00:00:00.000Z"), (-62_135_596_800, "0001-01-01T00:00:00.000Z"),
    ] as [(Double, String)] {
      #expect(Timestamp.text(seconds) == text)
      let read = Timestamp.seconds(text)
      #expect(read.map { abs($0 - seconds) < 0.0005 } == true, "\(text)")
    }
  }

  /// Times that servers and files may tell: none traps, and each is a time of RFC 3339.
  @Test func timesBeyondTheFormat() {
    let (first, last) = ("0000", "9999-12-31T23:59:59.999Z")
    for (seconds, text) in [
      (253_402_300_800, last), (9_223_372_036_854_775_808, last), (1e300, last), (.infinity, last),
      (9_224_318_015_999, last), (-1e300, first), (-.infinity, first), (-9_223_372_036_854_775_808, first),
      (.nan, "1970-01-01T00:00:00.000Z"), (0, "1970"), (-1, "1969-12-31T23:59:59.000Z"),
      (10_413_792_000, "2300-01-01T00:00:00.000Z"), (1_779_999_000.999, "2026-05-28T20:10:00.999Z"),
    ] as [(Double, String)] {
      #expect(Timestamp.text(seconds).hasPrefix(text), "\(seconds) reads \(Timestamp.text(seconds))")
      #expect(Timestamp.text(seconds).utf8.count == 24)
    }
    for seconds in [1e300, -1e300, .infinity, .nan, 9.3e18] {
      let time = CivilTime(local: seconds)
      #expect((0..<1440).contains(time.minute))
    }
  }

  @Test func everyDayOfFourCenturiesRoundTrips() {
    let first = Timestamp.days(year: 1900, month: 1, day: 1)
    for day in stride(from: first, to: first + 146_097, by: 1) {
      let text = Timestamp.date(Double(day) * 86_400)
      let parts = text.split(separator: "-").compactMap { Int64($0) }
      guard parts.count == 3, Timestamp.days(year: parts[0], month: parts[1], day: parts[2]) == day else {
        Issue.record("day \(day) reads \(text)")
        return
      }
    }
  }

  @Test func otherFormsOfRFC3339() {
    for (text, seconds) in [
      ("1970-01-01T01:00:00+01:00", 0), ("1969-12-31T19:00:00-05:00", 0), ("1970-01-01T00:00:00Z", 0),
      ("1970-01-01t00:00:01.25z", 1.25), ("1970-01-01T00:00:00.123456789Z", 0.123456789),
      ("1970-01-01T05:30:00+05:30", 0),
    ] as [(String, Double)] {
      #expect(Timestamp.seconds(text).map { abs($0 - seconds) < 1e-6 } == true, "\(text)")
    }
  }

  @Test func whatIsNoTimeIsRefused() {
    for text in [
      "", "now", "1970-01-01", "1970-01-01T00:00:00", "1970-13-01T00:00:00Z", "1970-00-01T00:00:00Z",
      "1970-01-32T00:00:00Z", "1970-01-01T00:00:00+0", "1970-01-01T00:00:00.", "abcd-01-01T00:00:00Z",
      "1970-01-01T24:00:00Z", "1970-01-01T00:60:00Z", "1970/01/01T00:00:00Z", "1970-01-01T00:00:00Zulu",
      "1970-01-01T-1:00:00Z", "+970-01-01T00:00:00Z",
    ] {
      #expect(Timestamp.seconds(text) == nil, "`\(text)` was read")
    }
  }
}
