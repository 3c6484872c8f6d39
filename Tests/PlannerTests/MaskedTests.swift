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
  func text(_ line: String, _ shown: String) { #expect(Masked.text(line) == shown) }
}
