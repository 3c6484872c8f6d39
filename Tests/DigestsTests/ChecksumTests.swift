import CChecksums
import Digests
import Testing

struct ChecksumTests {
  @Test func `has the catalogue's check values`() {
    var short = CRC32C()
    short.update(Array("123456789".utf8))
    #expect(short.value == 0xe306_9283)
    var zlib = CRC32()
    zlib.update(Array("123456789".utf8))
    #expect(zlib.value == 0xcbf4_3926)
    var long = CRC64NVME()
    long.update(Array("123456789".utf8))
    #expect(long.value == 0xae8b_1486_0a79_9888)
    #expect(Hex.encode(long.bytes) == "ae8b14860a799888")
  }

  @Test(arguments: [0, 1, 2, 63, 64, 65, 1000, 65_537])
  func `checksums of two parts make that of both`(count: Int) {
    let bytes = pattern(70_000)
    var (first, second, both) = (CRC64NVME(), CRC64NVME(), CRC64NVME())
    first.update(Array(bytes[..<(bytes.count - count)]))
    second.update(Array(bytes[(bytes.count - count)...]))
    both.update(bytes)
    #expect(first.joined(with: second, count: Int64(count)) == both)
    #expect(CRC64NVME().joined(with: both, count: Int64(bytes.count)) == both)
  }

  @Test(arguments: [0, 31, 127, 128, 129, 191, 192, 255, 767, 768, 777, 12_287, 12_288, 13_100, 50_000])
  func `the processor's way and the table's agree`(count: Int) {
    let bytes = pattern(count + 7)
    // Every alignment, and a start other than zero.
    for start in 0..<7 {
      bytes.withUnsafeBytes { all in
        let part = UnsafeRawBufferPointer(rebasing: all[start..<(start + count)])
        #expect(
          haul_crc32c(77, part.baseAddress, count) == haul_crc32c_portable(77, part.baseAddress, count))
        #expect(haul_crc32(77, part.baseAddress, count) == haul_crc32_bytewise(77, part.baseAddress, count))
        #expect(
          haul_crc64nvme(77, part.baseAddress, count)
            == haul_crc64nvme_portable(77, part.baseAddress, count))
      }
    }
  }

  @Test(arguments: [("", []), ("00ff", [0, 255]), ("0aF0", [10, 240])] as [(String, [UInt8])])
  func `reads and writes hexadecimal`(text: String, bytes: [UInt8]) {
    #expect(Hex.decode(text) == bytes)
    #expect(Hex.encode(bytes) == text.lowercased())
  }

  @Test(arguments: ["0", "0g", " 00", "é0", "000"])
  func `refuses what is not hexadecimal`(text: String) {
    #expect(Hex.decode(text) == nil)
  }
}
