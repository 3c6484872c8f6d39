import Foundation
import JobModel
import Testing

struct JSONTests {
  private func parse(_ json: JSON, indent: Int? = nil) throws -> Any {
    var bytes: [UInt8] = []
    json.write(to: &bytes, indent: indent)
    return try JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
  }

  @Test func textsAreEscaped() {
    for (value, text) in [
      ("", #""""#), ("a\"b\\c", #""a\"b\\c""#), ("\n\r\t", #""\n\r\t""#),
      ("\u{0}\u{1f}\u{7f}", #""\u0000\u001f\u007f""#),
      ("\u{8}\u{c}", #""\u0008\u000c""#), ("äß漢😀", "\"äß漢😀\""), ("a/b", #""a/b""#), ("\r\n", #""\r\n""#),
    ] {
      #expect(JSON.string(value).text == text)
    }
  }

  @Test func everyScalarValueBelowTheSurrogatesComesBack() throws {
    let all = String(String.UnicodeScalarView((0..<0xd800).compactMap(Unicode.Scalar.init)))
    #expect(try parse(.string(all)) as? String == all)
  }

  @Test func numbers() throws {
    for (value, text) in [
      (.integer(0), "0"), (.integer(.max), "9223372036854775807"), (.integer(.min), "-9223372036854775808"),
      (.number(0), "0"), (.number(1.5), "1.5"), (.number(-0.25), "-0.25"), (.number(0.001), "0.001"),
      (.number(1_700_000_000.123), "1700000000.123"), (.number(.infinity), "null"), (.number(.nan), "null"),
      (.bool(true), "true"), (.bool(false), "false"), (.null, "null"), (.int(nil as Int?), "null"),
    ] as [(JSON, String)] {
      #expect(value.text == text)
    }
  }

  @Test func structureKeepsItsOrderAndParsesBack() throws {
    let json: JSON = [
      "z": .array([.integer(1), .null, .object([])]), "a": ["b\n": .string("c")], "empty": .array([]),
    ]
    #expect(json.text == #"{"z":[1,null,{}],"a":{"b\n":"c"},"empty":[]}"#)
    for indent in [nil, 0] as [Int?] {
      let object = try #require(try parse(json, indent: indent) as? [String: Any])
      #expect(Set(object.keys) == ["z", "a", "empty"])
      #expect((object["a"] as? [String: String]) == ["b\n": "c"])
      #expect((object["z"] as? [Any])?.count == 3)
    }
    #expect(JSON.dictionary(["b": "2", "a": "1"]).text == #"{"a":"1","b":"2"}"#)
  }
}
