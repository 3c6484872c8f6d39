import JobModel
import Testing

/// The words of `preserve`, and of times and modes at stores.
struct AttributeTests {
  @Test(arguments: [
    (["available"], ["available"]), (["none"], ["none"]), ([], ["none"]),
    (["mode", "tags!", "content_type"], ["content_type", "tags!", "mode"]),
    (["mtime!", "available"], ["available", "mtime!"]),
  ])
  func words(_ given: [String], _ written: [String]) throws {
    let rule = try PreserveRule(given)
    #expect(rule.words == written)
    #expect(try PreserveRule(rule.words) == rule)
  }

  @Test(arguments: [["tag"], ["available!"], ["none", "tags"], ["tags", "tags!"], ["!"], [""]])
  func noRule(_ words: [String]) { #expect(throws: ValueFault.self) { try PreserveRule(words) } }

  @Test func whatIsAskedFor() throws {
    let rule = try PreserveRule(["available", "tags!"])
    #expect(rule.asks(for: .mode) && rule.asks(for: .tags))
    #expect(rule.demanded == [.tags] && rule.demands(.tags) && !rule.demands(.mode))
    // What the manifest does not say is another thing than the same said.
    #expect(try PreserveRule(["content_type"]) != PreserveRule.standard(.upload))
    #expect(try PreserveRule(["available"]) == PreserveRule.standard(.copy))
    #expect(PreserveRule.standard(.download) == .none)
  }

  /// As rclone writes them (ncw/swift, nsToFloatString).
  @Test(arguments: [
    (Int64(1_700_000_000_123_456_789), "1700000000.123456789"), (1_700_000_000_000_000_000, "1700000000"),
    (1_700_000_000_500_000_000, "1700000000.5"), (1, "0.000000001"), (0, "0"), (-1_500_000_000, "-1.5"),
  ])
  func times(_ nanoseconds: Int64, _ text: String) {
    #expect(ObjectTime.text(nanoseconds) == text)
    #expect(ObjectTime.nanoseconds(text) == nanoseconds)
  }

  @Test(arguments: [
    ("1700000000.1234567899", Int64(1_700_000_000_123_456_789)), ("17.", 17_000_000_000),
    ("007", 7_000_000_000),
  ])
  func readTimes(_ text: String, _ nanoseconds: Int64) {
    #expect(ObjectTime.nanoseconds(text) == nanoseconds)
  }

  @Test(arguments: [
    "", "-", ".5", "1.2.3", "1e9", "2026-01-01T00:00:00Z", " 1", "1 ", "99999999999999999999", "9223372037",
    "-9223372037", "1.x", "+1",
  ])
  func noTime(_ text: String) { #expect(ObjectTime.nanoseconds(text) == nil) }

  @Test func modes() {
    #expect(ObjectMode.text(0o644) == "100644" && ObjectMode.text(0o4755) == "104755")
    for (text, bits) in [
      ("100644", 0o644), ("0100600", 0o600), ("644", 0o644), ("0o640", 0o640), ("0755", 0o755),
    ] {
      #expect(ObjectMode.bits(text) == UInt16(bits), "\(text)")
    }
    // No file runs as its owner because a store says so; no folder's, link's or decimal mode is taken.
    #expect(ObjectMode.bits("104755") == 0o755)
    for text in ["", "64", "040755", "120777", "33188", "100648", "rw-r--r--", "-644", "777777777"] {
      #expect(ObjectMode.bits(text) == nil, "\(text)")
    }
  }
}
