/// APPNOTE.TXT 4.3: an entry or nothing at the head, an end-of-central-directory record whose offsets fit.
enum ZIPContent {
  private static let entry: [UInt8] = [0x50, 0x4b, 3, 4]
  private static let directory: [UInt8] = [0x50, 0x4b, 1, 2]
  private static let end: [UInt8] = [0x50, 0x4b, 5, 6]
  private static let end64: [UInt8] = [0x50, 0x4b, 6, 6]
  private static let locator64: [UInt8] = [0x50, 0x4b, 6, 7]
  /// Lengths of the fixed parts, in bytes: 4.3.16, 4.3.15, 4.3.14.
  private static let endLength = 22
  private static let locatorLength = 20
  private static let end64Length = 56

  static func fault(in content: Content) throws -> String? {
    let head = try content.bytes(at: 0, 4)
    guard head == entry || head == end else { return "it does not begin with a ZIP entry" }
    let tail = try content.tail(endLength + Int(UInt16.max))
    guard let index = endIndex(tail) else {
      return "it has no end-of-central-directory record (truncated?)"
    }
    let record = tail[index...]
    let position = content.size - Int64(tail.count - index)
    var entries = field(record, 10, 2)
    var length = field(record, 12, 4)
    var offset = field(record, 16, 4)
    var limit = UInt64(position)
    if entries == 0xffff || length == 0xffff_ffff || offset == 0xffff_ffff {
      let locator = try content.bytes(at: position - Int64(locatorLength), locatorLength)
      if locator.starts(with: locator64) {
        guard let at = Int64(exactly: field(locator[...], 8, 8)) else { return misfit }
        let record64 = try content.bytes(at: at, end64Length)
        guard at < position, record64.count == end64Length, record64.starts(with: end64) else {
          return misfit
        }
        entries = field(record64[...], 32, 8)
        length = field(record64[...], 40, 8)
        offset = field(record64[...], 48, 8)
        limit = UInt64(at)
      }
    }
    guard length <= limit, offset <= limit - length else { return misfit }
    if entries > 0, try content.bytes(at: Int64(offset), 4) != directory { return misfit }
    return nil
  }

  private static let misfit = "its central directory is not where its end record says"

  /// Where the end record begins: the last signature whose comment reaches exactly to the end.
  private static func endIndex(_ tail: [UInt8]) -> Int? {
    guard tail.count >= endLength else { return nil }
    return (0...(tail.count - endLength)).last { index in
      tail[index...].starts(with: end)
        && Int(field(tail[index...], 20, 2)) == tail.count - index - endLength
    }
  }

  private static func field(_ record: ArraySlice<UInt8>, _ offset: Int, _ length: Int) -> UInt64 {
    let start = record.startIndex + offset
    return record[start..<(start + length)].littleEndian
  }
}
