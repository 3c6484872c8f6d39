import JobModel
import Testing

@Suite struct HexDigitTests {
  @Test func `a byte is a digit where it is one of the 16, in either case`() {
    for byte in UInt8.min...UInt8.max {
      #expect(byte.isLowerHexDigit == "0123456789abcdef".utf8.contains(byte))
      #expect(byte.isHexDigit == "0123456789abcdefABCDEF".utf8.contains(byte))
    }
  }
}
