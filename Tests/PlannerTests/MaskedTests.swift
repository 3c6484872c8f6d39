import Testing

@testable import Planner

@Suite struct MaskedTests {
  @Test(arguments: [
    ("a,b", "a,b"),
    ("x,http://h/p?sig=abc,3", "x,http://h/p?*******,3"),
    (#""http://h/p?a ""b"" c",3"#, #""http://h/p?*********",3"#),
    ("HTTP://user:pw@h/p?Q,4", "HTTP://*******@h/p?*,4"),
    ("http://h/a@b?q http://h/c?d", "http://h/a@b?* http://h/c?*"),
    ("no url?really", "no url?really"),
  ])
  func csv(_ line: String, _ shown: String) { #expect(Masked.text(line, in: .csv) == shown) }

  @Test(arguments: [
    ("http://h/a,b?sig=x,y z", "http://h/a,b?******* z"),
    ("http://h/a\"b?sig c", "http://h/a\"b?*** c"),
    ("http://u:p@ss@h/?\u{301}x", "http://******@h/?**"),
  ])
  func lines(_ line: String, _ shown: String) {
    #expect(Array(Masked.text(line).unicodeScalars) == Array(shown.unicodeScalars))
  }

  @Test func json() {
    let line = #"{"u":"http://h/a\"b, c?s=\"1","t":"x?y"}"#
    #expect(Masked.text(line, in: .json) == #"{"u":"http://h/a\"b, c?*****","t":"x?y"}"#)
  }
}
