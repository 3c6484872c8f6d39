import JobModel
import Testing

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

  /// Of a manifest's line: URLs, and what stands under keys that take secrets.
  @Test(arguments: [
    ("a: { url: \"http://u:p@h/x?s=1\", to: b }", "a: { url: \"http://***@h/x?***\", to: b }"),
    ("auth: { bearer: LIT }", "auth: { bearer: *** }"),
    ("auth: { bearer: { env: NAME } }", "auth: { bearer: { env: NAME } }"),
    ("  password: a, b # c", "  password: ********"),
    ("basic: { user: u, password: 'x, y: z' }", "basic: { user: u, password: ********* }"),
    ("header: { name: X-Y, value: a,b, more: c }", "header: { name: X-Y, value: ***, more: c }"),
    ("\"X-Api-Key\": \"k\"", "\"X-Api-Key\": ***"), ("auth: none", "auth: none"),
    ("token_url: https://h/t", "token_url: https://h/t"), ("secret_access_key:abc", "secret_access_key:***"),
    ("to: a.bin", "to: a.bin"), ("key: \"${each.path}\"", "key: \"${each.path}\""),
    ("key: ${each.path}", "key: ${each.path}"),
  ])
  func manifest(_ line: String, _ shown: String) {
    #expect(Diagnostic(.error, "", lineText: line).lineText == shown)
  }
}
