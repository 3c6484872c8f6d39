import Endpoints
import Testing

struct WebURLTests {
  @Test func reads() throws {
    for (text, scheme, host, port, path, query) in [
      ("http://a.example", "http", "a.example", 80, "/", nil),
      ("HTTPS://A.Example:8443/x/Y?q=1&r#f", "https", "a.example", 8443, "/x/Y", "q=1&r"),
      ("http://a?b", "http", "a", 80, "/", "b"), ("http://a/?", "http", "a", 80, "/", ""),
      ("http://a:/p", "http", "a", 80, "/p", nil), ("https://[::1]/p", "https", "[::1]", 443, "/p", nil),
      ("http://[2001:db8::1]:81", "http", "[2001:db8::1]", 81, "/", nil),
      ("http://a/b@c:d", "http", "a", 80, "/b@c:d", nil),
      ("http://a/%2F?x=%3f", "http", "a", 80, "/%2F", "x=%3f"),
    ] as [(String, String, String, Int, String, String?)] {
      let url = try #require(WebURL(text), "\(text)")
      #expect(url.scheme == scheme && url.host == host && url.port == port, "\(text)")
      #expect(url.path == path && url.query == query, "\(text)")
    }
  }

  @Test func refuses() {
    for text in [
      "", "a/b", "ftp://a/", "http:/a", "http://", "http:///p", "http://u@a/", "http://u:p@a/", "http://a:0/",
      "http://a:65536/", "http://a:x/", "http://a:+80/", "http://a b/", "http://a\\@b/", "http://[::1",
      "http://:80/",
      "javascript:alert(1)", "http://a\r\nX: y/", "http://::1/",
      "http://a\u{0}/", "http://u@\u{301}a/", "http://u:p@\u{301}a/",
    ] {
      #expect(WebURL(text) == nil, "`\(text)` was read")
    }
  }

  /// What most URLs are is read by a shorter way.
  @Test(arguments: [
    "http://a/", "https://files.example.net/a/b.bin?x=1&y=?2", "http://127.0.0.1:8080/p", "http://a:80/p",
    "https://a:443/p", "http://a:443/p", "https://a:80/?", "http://a:0080/", "http://a:08080/", "http://a:0/",
    "http://a:65535/", "http://a:65536/", "http://a:100000/", "http://a:8080", "http://a:/p", "http://a",
    "https://a.b", "http://a:", "http://a:80", "http://a?x", "http://a#f", "http://a:x/",
    "http://a.b-c./%2F", "http://a/p#f", "http://a/p?q#f", "http://a/p q", "http://a/p\u{7F}", "http://a/é",
    "http://A/", "http://a_b/", "http://a@b/", "http://a/@:[]\\", "http://-/", "http://", "http:///",
    "http://:1/",
    "HTTP://a/", "http://a\\/", "https:/a/",
  ])
  func theShortWayReadsTheSame(_ text: String) { #expect(WebURL(text) == WebURL(careful: text)) }

  @Test func textHidesNothingAndDescriptionHidesTheQuery() throws {
    let url = try #require(WebURL("https://a:443/p?sig=secret"))
    #expect(url.text == "https://a/p?sig=secret")
    #expect("\(url)" == "https://a/p?***")
    #expect(WebURL("http://a:81/")?.origin == "http://a:81")
  }

  /// RFC 3986, 5.4, as far as http(s) goes; an empty path reads `/`.
  @Test func resolvesReferences() throws {
    let base = try #require(WebURL("http://a/b/c/d;p?q"))
    for (reference, wanted) in [
      ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"),
      ("//g", "http://g/"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"),
      ("#s", "http://a/b/c/d;p?q"),
      ("g#s", "http://a/b/c/g"), ("g?y#s", "http://a/b/c/g?y"), (";x", "http://a/b/c/;x"),
      ("g;x", "http://a/b/c/g;x"), ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"),
      ("./", "http://a/b/c/"),
      ("..", "http://a/b/"), ("../", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"),
      ("../../g", "http://a/g"), ("../../../g", "http://a/g"), ("/./g", "http://a/g"),
      ("/../g", "http://a/g"),
      ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"), ("..g", "http://a/b/c/..g"),
      ("./../g", "http://a/b/g"), ("./g/.", "http://a/b/c/g/"), ("g/./h", "http://a/b/c/g/h"),
      ("g/../h", "http://a/b/c/h"), ("g;x=1/./y", "http://a/b/c/g;x=1/y"), ("g;x=1/../y", "http://a/b/c/y"),
      ("g?y/./x", "http://a/b/c/g?y/./x"), ("g?y/../x", "http://a/b/c/g?y/../x"),
      ("https://x.example/y?z", "https://x.example/y?z"), ("HTTP://X/", "http://x/"),
      ("/a:b", "http://a/a:b"), ("./a:b", "http://a/b/c/a:b"),
    ] {
      #expect(base.resolving(reference)?.text == wanted, "\(reference)")
    }
    for reference in ["ftp://a/", "mailto:x@y", "http://u@h/", "file:///etc/passwd"] {
      #expect(base.resolving(reference) == nil, "\(reference)")
    }
  }

  /// To Swift, `/` and a combining mark behind it are one character; to curl and to servers they are two.
  @Test func marksHideNothing() throws {
    let url = try #require(WebURL("http://a/p?\u{301}sig=secret#\u{301}f"))
    #expect(url.path == "/p" && "\(url)" == "http://a/p?***")
    #expect(Array(url.text.utf8) == Array("http://a/p?\u{301}sig=secret".utf8))
    #expect(WebURL("http://a/\u{301}b")?.host == "a")
    let base = try #require(WebURL("http://a/b/\u{301}c?q"))
    #expect(base.resolving("g h/ü?q=a b")?.encodingRaw.text.hasSuffix("/g%20h/%C3%BC?q=a%20b") == true)
    #expect(base.resolving("%20/%?a+b")?.encodingRaw.text.hasSuffix("/%20/%?a+b") == true)
    #expect(base.resolving("//\u{301}o/x") == WebURL("http://\u{301}o/x"))
    #expect(base.resolving("../\u{301}g")?.text == "http://a/\u{301}g")
    #expect(base.resolving("g?\u{301}y#\u{301}s")?.query == "\u{301}y")
  }

  @Test func appends() throws {
    let base = try #require(WebURL("http://a/api/?x=1"))
    #expect(base.appending("files/a").text == "http://a/api/files/a")
    #expect(base.appending("/files").text == "http://a/api/files")
    #expect(WebURL("http://a")?.appending("f").text == "http://a/f")
  }

  @Test func encodesAndDecodes() {
    for (literal, encoded) in [
      ("a-b._~9Z", "a-b._~9Z"), ("a b", "a%20b"), ("#?%", "%23%3F%25"), ("ü漢", "%C3%BC%E6%BC%A2"),
      ("a/b", "a/b"),
      ("+&=;:@", "%2B%26%3D%3B%3A%40"), ("", ""), ("\r\n", "%0D%0A"),
    ] {
      #expect(WebURL.encode(literal) == encoded)
      #expect(WebURL.decode(encoded) == literal)
    }
    #expect(WebURL.encode("a/b", keepingSlash: false) == "a%2Fb")
    for (text, literal) in [
      ("%", "%"), ("%4", "%4"), ("%zz", "%zz"), ("%41", "A"), ("a%2fb", "a/b"), ("%25%34", "%4"),
    ] {
      #expect(WebURL.decode(text) == literal)
    }
  }
}
