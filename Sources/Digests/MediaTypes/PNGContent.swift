/// PNG (ISO/IEC 15948), 5.2 and 11.2: the signature, an IHDR chunk first, an IEND chunk last.
enum PNGContent {
  private static let head: [UInt8] =
    [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] + [0, 0, 0, 13] + Array("IHDR".utf8)
  private static let end: [UInt8] = [0, 0, 0, 0] + Array("IEND".utf8) + [0xae, 0x42, 0x60, 0x82]

  static func fault(in content: Content) throws -> String? {
    guard try content.bytes(at: 0, head.count) == head else {
      return "it does not begin with the PNG signature and an IHDR chunk"
    }
    guard try content.tail(end.count) == end else {
      return "it does not end with an IEND chunk (truncated?)"
    }
    return nil
  }
}
