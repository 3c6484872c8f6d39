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
    ("a,http://h/my file.pdf?S=T,b?c", "a,http://h/my file.pdf?***,b?c"),
    ("http://h/my file?TOKEN,3", "http://h/my file?*****,3"),
    ("http://h/f?n=a,b&S=T,3", "http://h/f?***,*****,3"),
    ("h.example/f?S=T,c2hh", "h.example/f?***,c2hh"),
  ])
  func csv(_ line: String, _ shown: String) { #expect(Masked.text(line, in: .csv) == shown) }

  @Test(arguments: [
    ("http://h/a,b?sig=x,y z", "http://h/a,b?******* z"),
    ("http://h/a\"b?sig c", "http://h/a\"b?*** c"),
    ("http://u:p@ss@h/?\u{301}x", "http://******@h/?**"),
    ("http://h/my file?n=a b&S=T c", "http://h/my file?*** ***** c"),
    ("a//b,http://u:p@h/f?S", "a//b,http://***@h/f?*"),
    ("//u:p@h/f?S=T", "//***@h/f?***"), ("h.example/f? S=T", "h.example/f? ***"),
    ("h.example/f?0123456789abcdef", "h.example/f?****************"), ("a?b/photo-?.jpg", "a?b/photo-?.jpg"),
  ])
  func lines(_ line: String, _ shown: String) {
    #expect(Array(Masked.text(line).unicodeScalars) == Array(shown.unicodeScalars))
  }

  @Test(arguments: [
    (#"{"u":"http://h/a\"b, c?s=\"1","t":"x?y"}"#, #"{"u":"http://h/a\"b, c?*****","t":"x?y"}"#),
    (#"{"u":"https:\/\/u:p@h\/a b?S=T","t":"x?y"}"#, #"{"u":"https:\/\/***@h\/a b?***","t":"x?y"}"#),
    (#"{"u":"h.example\/f?S\u003dT"}"#, #"{"u":"h.example\/f?********"}"#),
  ])
  func json(_ line: String, _ shown: String) { #expect(Masked.text(line, in: .json) == shown) }

  /// Of a manifest's line: URLs, and what stands under keys that take secrets.
  @Test(arguments: [
    ("a: { url: \"http://u:p@h/x?s=1\", to: b }", "a: { url: \"http://***@h/x?***\", to: b }"),
    ("a: { b: http://h/my f?TOKEN, c: 'd?e' }", "a: { b: http://h/my f?****** c: 'd?e' }"),
    ("- //h/f?S=T", "- //h/f?***"), ("a: { b: c?d, e: f=g }", "a: { b: c?d, e: *** }"),
    ("auth: { bearer: LIT }", "auth: { bearer: *** }"),
    ("auth: { bearer: { env: NAME } }", "auth: { bearer: { env: NAME } }"),
    ("  password: a, b # c", "  password: ********"),
    ("basic: { user: u, password: 'x, y: z' }", "basic: { user: u, password: ********* }"),
    ("header: { name: X-Y, value: a,b, more: c }", "header: { name: X-Y, value: ***, more: c }"),
    ("basic: { user: u, pasword: LIT }", "basic: { user: u, pasword: *** }"),
    ("  credental: LIT", "  credental: ***"), ("auth: { bearer: [LIT, b] }", "auth: { bearer: ******** }"),
    ("\"X-Api-Key\": \"k\"", "\"X-Api-Key\": ***"), ("auth: none", "auth: none"),
    ("token_url: https://h/t", "token_url: https://h/t"), ("secret_access_key:abc", "secret_access_key:***"),
    ("to: a.bin", "to: a.bin"), ("key: \"${each.path}\"", "key: \"${each.path}\""),
    ("key: ${each.path}", "key: ${each.path}"),
  ])
  func manifest(_ line: String, _ shown: String) {
    #expect(Diagnostic(.error, "", lineText: line).lineText == shown)
  }
}
