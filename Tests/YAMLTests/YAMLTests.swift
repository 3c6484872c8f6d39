import Testing
import YAML

@Suite struct YAMLTests {
  @Test func `marks count characters from one`() throws {
    let root = try #require(YAMLParser.parse(Array("\u{FEFF}ä: [ü, \"x\"]\n\"q\":\n  - 1\n".utf8)).root)
    let entries = try #require(root.mapping)
    #expect(entries.map(\.key) == ["ä", "q"])
    #expect(entries[0].keyMark == YAMLMark(line: 1, column: 1))
    #expect(entries[0].value.mark == YAMLMark(line: 1, column: 4))
    #expect(entries[0].value.sequence?.map(\.mark.column) == [5, 8])
    #expect(entries[0].value.sequence?.map { $0.scalar?.isPlain } == [true, false])
    #expect(entries[1].value.sequence?[0].mark == YAMLMark(line: 3, column: 5))
  }

  @Test(arguments: [
    ("true", CoreValue.bool(true)), ("no", .text("no")), ("~", .null), ("", .null), ("0o17", .integer(15)),
    ("0x1F", .integer(31)), ("017", .integer(17)), ("1_000", .text("1_000")), ("22:30", .text("22:30")),
    ("1.5e3", .number(1500)), (".inf", .number(.infinity)), ("-.inf", .number(-.infinity)),
    ("1e", .text("1e")),
    ("nan", .text("nan")), ("+12", .integer(12)), ("0x", .text("0x")), (".5", .number(0.5)),
  ])
  func core(_ text: String, _ value: CoreValue) {
    #expect(YAMLScalar(text: text, isPlain: true).core == value)
    #expect(YAMLScalar(text: text, isPlain: false).core == .text(text))
  }

  @Test func `merge keys give way to the mapping's own`() throws {
    let text = "a: &a { x: 1, y: 1 }\nb: &b { y: 2, z: 2 }\nc: { y: 3, <<: [*a, *b] }\nd: { \"<<\": t }\n"
    let document = YAMLParser.parse(Array(text.utf8))
    #expect(document.faults == [])
    let c = try #require(document.root?["c"]?.mapping)
    #expect(c.map { "\($0.key)=\($0.value.scalar?.text ?? "")" } == ["y=3", "x=1", "z=2"])
    #expect(document.root?["d"]?["<<"]?.scalar?.text == "t")
  }

  @Test func `bytes that are no text are refused at their place`() {
    let bad = YAMLParser.parse(Array("a: 1\nb: ü".utf8) + [0xFF])
    #expect(bad.faults.first?.mark == YAMLMark(line: 2, column: 5))
    #expect(bad.root == nil)
    let utf16 = YAMLParser.parse([0xFF, 0xFE, 0x61, 0])
    #expect(utf16.faults.first?.message == "the text is UTF-16")
    let control = YAMLParser.parse(Array("a: 1\nb: \u{1}".utf8))
    #expect(control.faults.first?.mark == YAMLMark(line: 2, column: 4))
  }

  @Test func `nesting has an end`() {
    let text = String(repeating: "[", count: 5000)
    #expect(YAMLParser.parse(Array(text.utf8)).faults.first?.message == "nested deeper than 100 levels")
  }

  @Test(arguments: [
    ("a: { b: dep: }", 9, "dep:"), ("a: { b: dep:, c: d }", 9, "dep:"), ("a: [dep:, c]", 5, "dep:"),
    ("a: { c:\n  d, b: ${x} }", 9, "${x}"), ("a: [\n  **/*.tmp,\n]", 3, "**/*.tmp"),
    ("a: {\n  b: ${x} }", 6, "${x}"), ("a:\n  b: c:", 6, "c:"),
    ("a: {\r\n  b: ${x} }\r\n", 6, "${x}"), ("a: {\r  b: ${x} }", 6, "${x}"),
    ("a: {\u{2028}  b: ${x} }", 6, "${x}"),
  ])
  func `a value that YAML refuses is to be quoted`(_ text: String, _ column: Int, _ word: String) {
    let fault = YAMLParser.parse(Array(text.utf8)).faults.first
    #expect(fault?.mark.column == column)
    #expect(fault?.hint == "quote it: \"\(word)\"")
  }

  @Test(arguments: [
    "a: b: c", "a: [1", "a: \"x", "- a\nb: c", "a:\n  b: 1\n c: 2", "? [a]\n: b", "&a", "a: &x *y",
  ])
  func `a broken text gives one fault with a place`(_ text: String) {
    let document = YAMLParser.parse(Array(text.utf8))
    if text == "&a" { return #expect(document.root?.scalar?.isMissing == true) }
    #expect(document.faults.count == 1)
    #expect(document.root == nil)
  }
}
