import Digests
import Testing

struct MediaTypeRuleTests {
  static let samples: [(type: String, bytes: [UInt8])] = [
    ("image/jpeg", [0xff, 0xd8, 0xff, 0xe0, 1, 2, 3, 0xff, 0xd9]),
    (
      "image/png",
      [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13] + Array("IHDR-thirteen-b-crc4".utf8)
        + [0, 0, 0, 0] + Array("IEND".utf8) + [0xae, 0x42, 0x60, 0x82]
    ),
    ("application/pdf", Array("%PDF-1.7\nobjects\nstartxref\n9\n%%EOF".utf8)),
    ("video/mp4", box("ftyp", [0, 0, 0, 0]) + wideBox("mdat", [9, 9, 9]) + box("moov", [1, 2])),
    ("application/zip", zip),
  ]

  static func box(_ name: String, _ body: [UInt8]) -> [UInt8] {
    [0, 0, 0, UInt8(body.count + 8)] + Array(name.utf8) + body
  }

  static func wideBox(_ name: String, _ body: [UInt8]) -> [UInt8] {
    [0, 0, 0, 1] + Array(name.utf8) + [0, 0, 0, 0, 0, 0, 0, UInt8(body.count + 16)] + body
  }

  /// An entry of 30 bytes without name, its directory of 46, the end record with a comment.
  static let zip: [UInt8] =
    [0x50, 0x4b, 3, 4] + [UInt8](repeating: 0, count: 26)
    + [0x50, 0x4b, 1, 2] + [UInt8](repeating: 0, count: 42)
    + [0x50, 0x4b, 5, 6, 0, 0, 0, 0, 1, 0, 1, 0, 46, 0, 0, 0, 30, 0, 0, 0, 2, 0] + Array("hi".utf8)

  @Test(arguments: samples)
  func `knows whole content`(type: String, bytes: [UInt8]) throws {
    #expect(try verdict(type, bytes) == .match)
    #expect(try verdict(type.uppercased(), bytes) == .match)
  }

  @Test(arguments: samples)
  func `fails content cut anywhere`(type: String, bytes: [UInt8]) throws {
    for count in 0..<bytes.count {
      #expect(try verdict(type, Array(bytes.prefix(count))) != .match, "\(type) cut to \(count)")
    }
  }

  @Test(arguments: samples, samples)
  func `knows one type from another`(sample: (String, [UInt8]), other: (String, [UInt8])) throws {
    #expect((try verdict(sample.0, other.1) == .match) == (sample.0 == other.0))
  }

  @Test(
    arguments: [
      ("video/mp4", box("ftyp", []) + box("mdat", [1]), "no moov box"),
      ("video/mp4", box("ftyp", []) + [0, 0, 0, 3] + Array("moov".utf8), "offset 8 is cut short"),
      ("image/jpeg", [0xff, 0xd8, 0xff, 1, 2], "end-of-image"),
      ("application/zip", Array(zip.dropFirst(30)), "does not begin with a ZIP entry"),
      (
        "application/zip",
        zip[..<76] + [0x50, 0x4b, 5, 6, 0, 0, 0, 0, 1, 0, 1, 0, 47, 0, 0, 0, 30, 0, 0, 0, 0, 0], "directory"
      ),
    ] as [(String, [UInt8], String)])
  func `says what is wrong`(type: String, bytes: [UInt8], reason: String) throws {
    guard case .mismatch(let said) = try verdict(type, bytes) else {
      Issue.record("\(type) passed")
      return
    }
    #expect(said.contains(reason) && said.contains(type))
  }

  @Test func `lets padding stand after a picture, and an open last box`() throws {
    #expect(try verdict("image/jpeg", [0xff, 0xd8, 0xff, 1, 0xff, 0xd9, 0, 0]) == .match)
    let open = Self.box("ftyp", []) + Self.box("moov", []) + [0, 0, 0, 0] + Array("mdat".utf8) + [1, 2, 3]
    #expect(try verdict("video/mp4", open) == .match)
  }

  @Test func `an empty archive is an archive`() throws {
    #expect(try verdict("application/zip", [0x50, 0x4b, 5, 6] + [UInt8](repeating: 0, count: 18)) == .match)
  }

  @Test func `names the rules there are`() {
    #expect(throws: MediaTypeRule.Unsupported(type: "text/plain")) { try verdict("text/plain", []) }
    #expect("\(MediaTypeRule.Unsupported(type: "text/plain"))".contains("image/jpeg"))
    #expect(MediaTypeRule.supported == MediaTypeRule.supported.sorted())
  }

  private func verdict(_ type: String, _ bytes: [UInt8]) throws -> MediaTypeRule.Outcome {
    try MediaTypeRule.check(type: type, size: Int64(bytes.count), read: reader(bytes))
  }
}
