import Endpoints
import HTTPClient
import JobModel
import Testing

/// Which proxy an environment names for a URL, as libcurl has it.
struct ProxyTests {
  private static let both = [
    "http_proxy": "http://p:1", "HTTPS_PROXY": "http://s:2", "HTTP_PROXY": "http://no:9",
  ]

  @Test(
    arguments: [
      (both, "http://h/", "http://p:1"), (both, "https://h/", "http://s:2"),
      (["HTTP_PROXY": "http://no:9"], "http://h/", nil),
      (["all_proxy": "socks5h://a:3"], "https://h/", "socks5h://a:3"),
      (["https_proxy": "", "ALL_PROXY": "http://a:3"], "https://h/", "http://a:3"),
      ([:], "http://h/", nil),
    ] as [([String: String], String, String?)])
  func theProxyOfAScheme(variables: [String: String], url: String, proxy: String?) throws {
    #expect(try ProxyEnvironment(variables).proxy(for: #require(WebURL(url))) == proxy)
  }

  @Test(
    arguments: [
      ("http://p:1", nil), ("p:1", nil), ("p", nil), ("HTTPS://u:p@p:65535/", nil),
      ("socks5h://[::1]:9", nil),
      ("http://u:p@q@p:1", nil), ("http://p:", nil), ("htp://u:p@p:9", "scheme"), ("socks9://p", "scheme"),
      ("http://u:p@bad host:9", "host"), ("http://p:999999", "host"), ("http://p:0", "host"),
      ("http://u:p/w@p:9", "host"), ("http://", "host"), ("http://[::1:9", "host"), ("http://u:p@:9", "host"),
    ] as [(String, String?)]) func faults(address: String, word: String?)
  {
    let fault = ProxyEnvironment.fault(in: address)
    #expect((fault == nil) == (word == nil) && fault?.contains(word ?? "") ?? true, "\(fault ?? "")")
  }

  @Test(arguments: [
    ("htp://user:S3CRET@127.0.0.1:9", "S3CRET", "'htp://***@127.0.0.1:9' ***"),
    ("user:S3CRET@p@h", "S3CRET@p", "'***@h' ***"), ("http://u:pw@h", "pw", "'http://***h' pw"),
    ("http://user@h", "user", "'http://user@h' user"),
  ]) func passwordsAreMasked(address: String, password: String, expected: String) {
    let mask = SecretMask()
    _ = ProxyEnvironment(["https_proxy": address]).teaching(mask)
    #expect(mask.masked("'\(address)' \(password)") == expected)
  }

  @Test(arguments: [
    ("example.net", "example.net", true), ("example.net", "a.example.net", true),
    (".example.net", "example.net", true), ("example.net", "badexample.net", false),
    ("example.net", "EXAMPLE.net.", true), ("a, b c", "c", true), ("*", "anything", true), ("x,*", "y", true),
    ("10.0.0.0/8", "10.2.3.4", true), ("10.0.0.0/8", "11.2.3.4", false), ("10.0.0.1", "10.0.0.1", true),
    ("0.0.1", "10.0.0.1", false), ("::1", "[::1]", true), ("[::1]", "[::1]", true), ("", "h", false),
  ]) func exceptions(list: String, host: String, isOne: Bool) {
    #expect(ProxyEnvironment(["no_proxy": list]).isException(host) == isOne)
  }
}
