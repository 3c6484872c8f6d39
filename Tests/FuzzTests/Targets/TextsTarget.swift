import JobModel
import Reporting

@testable import Planner

/// Pieces of text, one a line: JSON that can be read back, URLs whose secrets never show, lines that fit a terminal.
enum TextsTarget {
  static func run(_ bytes: [UInt8]) throws {
    let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map {
      String(decoding: $0, as: UTF8.self)
    }
    try json(String(decoding: bytes, as: UTF8.self), bytes)
    try masking(lines)
    for line in lines { try display(line) }
  }

  private static func json(_ text: String, _ bytes: [UInt8]) throws {
    let bits = bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    let number = Double(bitPattern: bits)
    let value: JSON = [
      "text": .string(text), "number": .number(number), "exact": .exact(number),
      "integer": .integer(Int64(bitPattern: bits)), "list": .array([.string(text), .null, .bool(true)]),
      "object": .object([JSON.Member("k" + text, .string(text))]),
    ]
    for indent in [nil, 0] {
      var out: [UInt8] = []
      value.write(to: &out, indent: indent)
      try require(indent != nil || !out.contains { $0 < 32 }, "a line of JSON with control characters")
      let read = try require(JSON(out), "JSON that can't be read")
      try same(read["text"].string, text)
      try same(read["list"].array?.first?.string, text)
      let pair = read["object"].members?.first
      try same(pair?.name, "k" + text)
      try same(pair?.value.string, text)
      let integer = read["integer"].int64
      try require(integer == Int64(bitPattern: bits), "\(Int64(bitPattern: bits)) reads as \(integer ?? 0)")
      if number.isFinite {
        try require(read["exact"].double == number, "\(number) is written as \(JSON.exact(number).text)")
      }
    }
  }

  private static func same(_ read: String?, _ text: String) throws {
    try require(read.map { Array($0.utf8) } == Array(text.utf8), "\(text) reads as \(read ?? "nothing")")
  }

  private static let secret = "S3CRET"

  /// What stands around a URL's secrets is the input's; the secrets may be in no output.
  private static func masking(_ lines: [String]) throws {
    func piece(_ index: Int, without: String = "") -> String {
      guard index < lines.count else { return "" }
      let kept = lines[index].unicodeScalars.filter { scalar in
        !scalar.properties.isWhitespace && !("\"`<>\\" + without).unicodeScalars.contains(scalar)
      }
      return String(String.UnicodeScalarView(kept)).replacing(secret, with: "")
    }
    // A word before the URL may not make another scheme of it.
    let before = (lines.first ?? "").replacing(secret, with: "") + " "
    let user = piece(1, without: "/?#@")
    let address =
      "https://\(user):\(secret)@\(piece(2, without: "/?#@"))/\(piece(3, without: "?"))?\(piece(4))=\(secret)"
      + "&\(piece(5))"
    try hidden(Masking.text(before + address), address)
    try hidden(Masking.text(before + address + " " + before), address)
    try hidden(Masking.place(.url(address)), address)
    try hidden(Masking.withoutQuery(address), address)
    try hidden(Masked.text(before + address), address)
    try hidden(Masked.text("{\"u\": \"\(address)\"}", in: .json), address)
    if !address.utf8.contains(UInt8(ascii: ",")) { try hidden(Masked.text(address, in: .csv), address) }
    try hidden(Masked.text("a,\"\(address)\",b", in: .csv), address)
    try hidden(Masking.proxy("http://\(user):\(secret)@\(piece(2, without: "/?#@")):3128"), user)
    try hidden(Masking.text("/p?\(piece(4))&sig=\(secret)&\(piece(5))"), piece(4))
  }

  private static func hidden(_ shown: String, _ address: String) throws {
    try require(!Array(shown.utf8).contains(Array(secret.utf8)), "\(address) shows as \(shown)")
  }

  private static func display(_ line: String) throws {
    let safe = DisplayText.safe(line)
    try require(!safe.utf8.contains { $0 < 32 || $0 == 127 }, "control characters for a terminal")
    for columns in [0, 1, 2, 7, 40] {
      let cut = DisplayText.truncated(safe, to: columns)
      try require(DisplayText.width(cut) <= columns, "\(DisplayText.width(cut)) of \(columns): \(cut)")
      let elided = DisplayText.elided(safe, to: columns)
      try require(
        DisplayText.width(elided) <= columns, "\(DisplayText.width(elided)) of \(columns): \(elided)")
    }
  }
}
