import Foundation
import JobModel
import Testing

@testable import JobLedger

/// What the ledger wrote is read back as it was, and what is no JSON gives nothing.
struct JSONTextTests {
  @Test(arguments: [
    "", "plain", "q\"uo\\te", "tab\t\r\n\u{1}\u{7f}", "ü é 漢 😀 \u{301}", "\u{fffd}", "a/b",
    String(repeating: "x", count: 5000),
  ])
  func textsComeBack(_ text: String) {
    let json = JSONText(JSON.object([.init("a", .string(text)), .init(text, .string("b"))]).text)
    #expect(json.string(text) == "b")
    #expect(text == "a" || json.string("a") == text)
  }

  /// As Foundation reads them.
  @Test(arguments: [
    #"{"a":"\u00fc\ud83d\ude00\/\b\f\u0000"}"#, #" { "a" : "x" , "b" : [ 1 , { } , [ ] ] } "#,
    #"{"a":"\ud83d"}"#,
    #"{"a":"\udc00"}"#, #"{"a":"\u+123"}"#, #"{"a":"\x"}"#, #"{"a":"x}"#, #"{"a":"x""#, #"{"a" "x"}"#,
    #"{"a":"x"} y"#, #"{"a":"x"}{}"#, #"{a:"x"}"#, "[]", "", " ", "{", "nul", #"{"b":tru,"a":"x"}"#,
    #"{"b":-,"a":"x"}"#,
    #"{"b":1-2,"a":"x"}"#, #"{"b":null,"a":"x"}"#, #"{"b":[1 2],"a":"x"}"#,
    #"{"a":"x","a":"y"}"#,
  ])
  func readsAsFoundationDoes(_ text: String) {
    let object = (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: Any]
    #expect(JSONText(text).string("a") == object?["a"] as? String, "\(text)")
  }

  @Test func numbersKeepTheirDigits() {
    let json = JSONText(
      #"{"max":9223372036854775807,"min":-9223372036854775808,"over":9223372036854775808,"half":0.5,"big":1.5e3,"neg":-2.75,"huge":1e400,"t":true,"s":"1"}"#
    )
    #expect(json.int64("max") == .max && json.int64("min") == .min && json.int64("over") == nil)
    #expect(json.double("half") == 0.5 && json.double("big") == 1500 && json.int("big") == 1500)
    #expect(json.double("neg") == -2.75 && json.int64("neg") == -2 && json.double("max") == 0x1p63)
    #expect(
      json.int64("huge") == nil && json.int64("t") == nil && json.int64("s") == nil
        && json.double("none") == nil)
    #expect(json.bool("t") == true && json.bool("s") == nil)
  }

  @Test func whatIsNestedComesBack() {
    let json = JSONText(
      #"{"o":{"x":"1","y":"2"},"m":{"x":1},"l":["a","b"],"n":["a",1],"all":[{"k":"v"},{}],"some":[{},1],"e":{},"s":"t"}"#
    )
    #expect(
      json.dictionary("o") == ["x": "1", "y": "2"] && json.dictionary("m") == nil
        && json.dictionary("e") == [:])
    #expect(
      json.strings("l") == ["a", "b"] && json.strings("n") == nil && json.object("o")?.string("y") == "2")
    #expect(json.objects("all")?.map { $0.string("k") } == ["v", nil] && json.objects("some") == nil)
    #expect(json.texts == ["s": "t"])
    // Foundation would take the comma.
    #expect(JSONText(#"{"s":"t",}"#).texts.isEmpty && JSONText(#"{"s":"t","l":[1,]}"#).texts.isEmpty)
    let deep = String(repeating: "[", count: 100_000)
    #expect(JSONText("{\"s\":\"t\",\"d\":" + deep).texts.isEmpty)
  }
}
