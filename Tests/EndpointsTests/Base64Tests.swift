import Endpoints
import Foundation
import Testing

struct Base64Tests {
  @Test func bytesComeBack() {
    for count in 0..<260 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 97 + count) }
      #expect(Base64.encode(bytes) == Data(bytes).base64EncodedString())
      #expect(Base64.decode(Base64.encode(bytes)) == bytes)
    }
  }

  @Test(arguments: [
    "A", "AA", "AAA", "A===", "====", "AA=A", "=AAA", "AAA!", "AA AA", "AAAA\n", "AA-_", "ÄÄ", "AAAAA===",
  ])
  func isNone(_ text: String) { #expect(Base64.decode(text) == nil) }
}
