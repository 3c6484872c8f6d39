/// ISO/IEC 14496-12, 4.2: boxes that cover the file exactly, `ftyp` first and a `moov` among them.
enum MP4Content {
  /// More boxes than any real file has at its top level; bounds the walk over hostile content.
  private static let mostBoxes = 100_000

  static func fault(in content: Content) throws -> String? {
    guard try content.bytes(at: 4, 4) == Array("ftyp".utf8) else {
      return "it does not begin with an ftyp box"
    }
    var offset: Int64 = 0
    var hasMovie = false
    for _ in 0..<mostBoxes {
      if offset == content.size {
        return hasMovie ? nil : "it has no moov box"
      }
      let header = try content.bytes(at: offset, 16)
      guard header.count >= 8, let length = length(header, content.size - offset) else {
        return "the box at offset \(offset) is cut short (truncated?)"
      }
      if header[4..<8].elementsEqual("moov".utf8) { hasMovie = true }
      offset += length
    }
    return "it has more than \(mostBoxes) boxes"
  }

  /// The box's length with its header, or nil where it does not fit in what is left.
  private static func length(_ header: [UInt8], _ left: Int64) -> Int64? {
    let stated: UInt64
    let least: UInt64
    switch header[0..<4].bigEndian {
    case 0: return left
    case 1:
      guard header.count == 16 else { return nil }
      stated = header[8..<16].bigEndian
      least = 16
    case let short:
      stated = short
      least = 8
    }
    return stated >= least && stated <= UInt64(left) ? Int64(stated) : nil
  }
}
