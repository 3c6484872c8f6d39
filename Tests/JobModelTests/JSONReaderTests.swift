import Testing

@testable import JobModel

struct JSONReaderTests {
  @Test func values() throws {
    for (text, value) in [
      ("null", .null), (" true ", .bool(true)), ("false", .bool(false)), ("0", .integer(0)),
      ("-0", .integer(0)), ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
      ("9223372036854775808", .exact(0x1p63)), ("1.5", .exact(1.5)), ("-1e3", .exact(-1000)),
      ("1E+2", .exact(100)), ("0.1e-1", .exact(0.01)), ("\"\"", .string("")), ("[]", .array([])),
      ("[ ]", .array([])), ("{ }", .object([])), ("\t[1,\r\n2 ]\n", .array([.integer(1), .integer(2)])),
      ("{\"a\" : {\"b\":[null]} }", ["a": ["b": .array([.null])]]),
      ("\u{FEFF}{}", .object([])),
    ] as [(String, JSON)] {
      #expect(JSON(Array(text.utf8)) == value, "\(text)")
    }
  }

  @Test func texts() throws {
    for (written, text) in [
      (#"a\"b\\c\/d"#, "a\"b\\c/d"), (#"\b\f\n\r\t"#, "\u{8}\u{c}\n\r\t"), (#"\u0041\u00e4\u6f22"#, "Aä漢"),
      (#"\ud83d\ude00"#, "😀"), (#"\uD83D\uDE00x"#, "😀x"), ("😀é", "😀é"), (#"e\u0301"#, "e\u{301}"),
      (#"\u0000"#, "\0"), ("\u{7f}", "\u{7f}"),
    ] {
      let read = try #require(JSON(Array("\"\(written)\"".utf8))?.string)
      #expect(Array(read.utf8) == Array(text.utf8), "\(written)")
    }
  }

  @Test(arguments: [
    "", " ", "nul", "True", "NaN", "Infinity", "01", "-", "+1", "1.", ".5", "1e", "1e+", "0x1", "1_0", "1 2",
    "1e400", "[", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "]", "{", "{\"a\"}", "{\"a\":}", "{\"a\":1,}",
    "{a:1}",
    "{1:2}", "{\"a\" 1}", "{\"a\":1 \"b\":2}", "\"", "\"a", "\"\\\"", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"",
    "\"\\u+123\"", "\"\\ud800\"", "\"\\ud800x\"", "\"\\ud800\\u0041\"", "\"\\udc00\"", "\"\\udc00\\ud800\"",
    "\"\n\"", "\"\0\"", "'a'", "{} {}", "[] x", "// a\n1", "\u{A0}1",
  ])
  func isNoJSON(_ text: String) { #expect(JSON(Array(text.utf8)) == nil) }

  /// A byte that is no part of UTF-8, an overlong form, half a surrogate pair, and UTF-16.
  @Test(
    arguments: [
      [0x22, 0xFF, 0x22], [0x22, 0xC0, 0xAF, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22], [0x22, 0xC3, 0x22],
      [0xFF, 0xFE, 0x31, 0x00], [0xEF, 0xBB, 0xBF],
    ] as [[UInt8]])
  func isNoUTF8(_ bytes: [UInt8]) { #expect(JSON(bytes) == nil) }

  @Test func depthIsBounded() {
    func nested(_ depth: Int) -> [UInt8] {
      Array(String(repeating: "[", count: depth).utf8) + Array(String(repeating: "]", count: depth).utf8)
    }
    #expect(JSON(nested(64)) != nil)
    #expect(JSON(nested(65)) == nil)
    #expect(JSON(nested(1_000_000)) == nil)
    #expect(JSON(Array(String(repeating: "{\"a\":", count: 1_000_000).utf8)) == nil)
  }

  @Test func members() throws {
    let json = try #require(
      JSON(Array(#"{"a":"1","n":7,"a":"2","\u00e4":"3","l":["x","y"],"m":["x",1],"o":{"p":"q"}}"#.utf8)))
    // Of several with one name, the last counts; names compare by bytes.
    #expect(json["a"].string == "2")
    #expect(json["ä"].string == "3")
    #expect(json["a\u{308}"] == .null)
    #expect(json["none"] == .null && json["none"]["deeper"] == .null && json["n"]["a"] == .null)
    #expect(json["l"].strings == ["x", "y"] && json["m"].strings == nil && json["a"].strings == nil)
    #expect(json["o"].dictionary == ["p": "q"] && json.dictionary == nil)
    #expect(json["n"].int64 == 7 && json["n"].double == 7 && json["n"].string == nil)
    #expect(json["l"].array?.count == 2 && json["o"].members?.count == 1 && json["n"].bool == nil)
  }

  /// Numbers that have no place in 64 bits are none, and are not wrapped around.
  @Test(
    arguments: [
      ("0", 0), ("-1", -1), ("9223372036854775807", .max), ("-9223372036854775808", .min), ("7.0", 7),
      ("1e3", 1000), ("9223372036854775808", nil), ("-9223372036854775809", nil),
      ("18446744073709551617", nil), ("99999999999999999999999999", nil), ("1e300", nil), ("-1e300", nil),
      ("9.3e18", nil), ("1.5", nil), ("\"7\"", nil), ("null", nil), ("true", nil), ("[7]", nil),
    ] as [(String, Int64?)])
  func wholeNumbers(_ text: String, _ value: Int64?) {
    #expect(JSON(Array("{\"a\":\(text)}".utf8))?["a"].int64 == value)
  }

  @Test func faultsHaveTheirPlace() {
    for (text, message, index) in [
      ("{\"a\":tru}", "`tru` is not a JSON value", 5), ("{\"a\":1]", "`,` or `}` is wanted here", 6),
      ("[\"\\q\"]", "an unknown escape", 3), ("[1] 2", "text after the value", 4),
    ] {
      var reader = JSONReader(Array(text.utf8)[...])
      #expect(throws: JSONReader.Fault(message: message, index: index)) {
        _ = try reader.value()
        try reader.end(after: "the value")
      }
    }
  }
}
