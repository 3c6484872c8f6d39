import Digests
import Testing

/// imohash's own vectors (wire facts, B), and values by PyPI's imohash 1.1.0 and mmh3 5.3.1.
struct FingerprintTests {
  @Test(arguments: [
    (0, "00000000000000000000000000000000"),
    (1, "016ac6dd306a3e594e711127c5b5a8e4"),
    (127, "7f0e0eaa0a415e2878303214a087fbab"),
    (128, "80017902d85ab752459758292a217ed8"),
    (4096, "80203d4ea589349dcdf63511a8d49d4a"),
    (131_072, "808008ed886018d5cd37a9b35bbae286"),
  ])
  func `gives imohash's vectors`(count: Int, expected: String) throws {
    let message = try Self.message(count)
    let fingerprint = try Fingerprint(size: Int64(count), read: reader(message))
    #expect(fingerprint.description == expected)
  }

  @Test(arguments: [
    (131_071, "ffff079a412848061cd9043ad5017ab8", "ffff079a550d08d365ea1824e82c8559"),
    (131_072, "808008bc9d306eaa105d05f83d26ac55", "808008dd8a1753076c5684c59797cf10"),
    (131_073, "818008f9b11b4d39f03d7e2b22355275", "8180084daa80d2d91364f01eee77c36d"),
    (5_000_000, "c096b102f2e3179885252462a75e371a", "c096b102fb1217a3d21fbf195626f206"),
  ])
  func `gives what the Python gives`(count: Int, expected: String, withID: String) throws {
    let read = reader(pattern(count))
    #expect(try Fingerprint(size: Int64(count), read: read).description == expected)
    let prefixed = try Fingerprint(size: Int64(count), prefix: Array("transfer-1".utf8), read: read)
    #expect(prefixed.description == withID)
  }

  @Test func `says when the content is shorter than its size`() {
    #expect(throws: ShortRead(offset: 0, wanted: 100, got: 99)) {
      try Fingerprint(size: 100, read: reader(pattern(99)))
    }
  }

  /// The vectors' message: the hashes of "A", "AA", … one after another, cut to the count.
  private static func message(_ count: Int) throws -> [UInt8] {
    var message: [UInt8] = []
    var input: [UInt8] = []
    while message.count < count {
      input.append(UInt8(ascii: "A"))
      message += Murmur3.hash(input)
    }
    return Array(message.prefix(count))
  }
}
