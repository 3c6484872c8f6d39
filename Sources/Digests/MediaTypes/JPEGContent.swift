/// ITU-T T.81, B.1.1.3: from the SOI marker to the EOI marker; zeros after it are let pass as padding.
enum JPEGContent {
  static func fault(in content: Content) throws -> String? {
    guard try content.bytes(at: 0, 3) == [0xff, 0xd8, 0xff] else {
      return "it does not begin with a start-of-image marker"
    }
    var tail = try content.tail(1024)
    while tail.last == 0 { tail.removeLast() }
    guard tail.suffix(2) == [0xff, 0xd9] else {
      return "it does not end with an end-of-image marker (truncated?)"
    }
    return nil
  }
}
