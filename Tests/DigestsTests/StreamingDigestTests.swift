import Digests
import Testing

/// Expected values by Python's hashlib and a bitwise CRC.
struct StreamingDigestTests {
  static let known: [(DigestKind, Int, String)] = [
    (.sha256, 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    (.sha256, 1, "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"),
    (.sha256, 1000, "67c95b2fe37807a4897fb9ad871d51f033a14d8f3e4c8edf38ec8312238b5ed2"),
    (.sha256, 100_003, "213480d4fe91606c372809a50765cd6b334119ca811510d2839e8cf54379756d"),
    (
      .sha512, 3,
      "52f0143fdd6dbf28ac6e6096ee9f30a6f50712651778c4a00687725072f25ef8"
        + "5aca7a6b29cb55c03d1475cdb4090d91e7a0cbaeb6128f55f24b1bc2567db728"
    ),
    (
      .sha512, 1000,
      "62f40bef268a89a98b6ca2e7a94bf4bdbef16d7e4a18b31d105e480250b83265"
        + "7387ac675782a0c5afff23fbad2e00b289ca39f3505fdf3fb03444b06b8e7b7b"
    ),
    (.sha1, 0, "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
    (.sha1, 1000, "52aa1cd18b5f551ed613432a8e5f58a00e9fc90a"),
    (.md5, 0, "d41d8cd98f00b204e9800998ecf8427e"),
    (.md5, 100_003, "7146a31b766660b3045e961f1cfa134c"),
    (.crc32, 0, "00000000"),
    (.crc32, 1, "d202ef8d"),
    (.crc32, 3, "f37aca27"),
    (.crc32, 1000, "421ee648"),
    (.crc32, 100_003, "9da873a0"),
    (.crc32c, 0, "00000000"),
    (.crc32c, 1, "527d5351"),
    (.crc32c, 3, "2443ae90"),
    (.crc32c, 1000, "dd5bad35"),
    (.crc32c, 100_003, "32a9bb6d"),
    (.crc64nvme, 0, "0000000000000000"),
    (.crc64nvme, 1, "d5da5047efec8728"),
    (.crc64nvme, 3, "9a9154e0ef819222"),
    (.crc64nvme, 1000, "ff202148ec369c49"),
    (.crc64nvme, 100_003, "7bb6fcfdf55109dd"),
  ]

  @Test(arguments: known)
  func `gives the known digest`(kind: DigestKind, count: Int, expected: String) throws {
    #expect(try Digest.hex(of: pattern(count), kind) == expected)
    #expect(expected.utf8.count == kind.byteCount * 2)
  }

  @Test(arguments: DigestKind.allCases)
  func `is the same wherever the bytes are split`(kind: DigestKind) throws {
    let bytes = pattern(400)
    let whole = try Digest.bytes(of: bytes, kind)
    for split in 0...bytes.count {
      let digest = try StreamingDigest(kind)
      digest.update(Array(bytes[..<split]))
      digest.update(Array(bytes[split...]))
      #expect(digest.finish() == whole, "split at \(split)")
    }
  }

  @Test func `SHA-256 goes on from the end of any block`() throws {
    let bytes = pattern(100_003)
    let whole = try Digest.hex(of: bytes, .sha256)
    for count in [0, 1, 63, 64, 65, 128, 6400, 99_968, 100_003] {
      var first = ResumableSHA256()
      bytes[..<count].withUnsafeBytes { first.update($0) }
      #expect((first.state == nil) == (count == 0 || count % 64 != 0), "\(count)")
      var second = ResumableSHA256(from: first.state)
      bytes[(first.state == nil ? 0 : count)...].withUnsafeBytes { second.update($0) }
      #expect(second.finishHex() == whole, "\(count)")
    }
    for (count, words) in [(0, 8), (63, 8), (-64, 8), (64, 7)] {
      #expect(ResumableSHA256.State(count: Int64(count), words: Array(repeating: 1, count: words)) == nil)
    }
  }

  @Test(arguments: [DigestKind.sha256, .md5])
  func `one after another each is of its own bytes`(kind: DigestKind) throws {
    let digest = try RepeatedDigest(kind)
    for count in [3, 0, 100, 64, 1000, 3] {
      #expect(digest.bytes(of: pattern(count)) == (try Digest.bytes(of: pattern(count), kind)))
    }
    #expect(throws: DigestError.self) { try RepeatedDigest(.crc32c) }
  }

  @Test(arguments: DigestKind.allCases)
  func `a copy goes its own way`(kind: DigestKind) throws {
    let first = try StreamingDigest(kind)
    first.update(pattern(100))
    let second = try first.copy()
    second.update([1])
    #expect(try first.finish() == Digest.bytes(of: pattern(100), kind))
    #expect(try second.finish() == Digest.bytes(of: pattern(100) + [1], kind))
  }

  @Test func `a finished digest can be asked again`() throws {
    let digest = try StreamingDigest(.sha256)
    digest.update([])
    let hex = digest.finishHex()
    #expect(digest.finishHex() == hex)
  }
}
