import JobModel
import Testing

@testable import Reporting

@Suite struct TextTests {
  @Test(arguments: [
    ("GET https://h/a?b=c&d=e failed", "GET https://h/a?*** failed"),
    ("HTTP://H/a?b \"https://u:p@h/x\"", "HTTP://H/a?*** \"https://***@h/x\""),
    ("`https://h:81/?a` and https://i?b", "`https://h:81/?***` and https://i?***"),
    ("really? yes: http://h/plain", "really? yes: http://h/plain"),
    ("path /b/k?part=1&X-Amz-Signature=ab12&z=1 refused", "path /b/k?part=1&X-Amz-Signature=***&z=1 refused"),
    ("ftp://h/a?b", "ftp://h/a?b"), ("", ""), ("what?", "what?"), ("a&b=c", "a&b=c"),
    ("proxy for 'htp://u:p@127.0.0.1:9'", "proxy for 'htp://***@127.0.0.1:9'"),
    ("socks9://u:p@q@h x://http://h/a?b", "socks9://***@h x://http://h/a?***"),
    ("sftp://user@host:22/a:b@c", "sftp://user@host:22/a:b@c"),
    ("https://h/a(b)?c=(d)'e'", "https://h/a(b)?***"),
    ("GET http://h:1/x?a=b.c: Failed", "GET http://h:1/x?***: Failed"),
    ("see (http://h/a).", "see (http://h/a)."),
    ("HTTP 422 (/r?X-Amz-Signature=ab&token=c.d) from", "HTTP 422 (/r?X-Amz-Signature=***&token=***) from"),
    ("http://), https://:", "http://), https://:"), ("/p?sig=.", "/p?sig=***."),
    // To Swift, a sign and a combining mark behind it are one character.
    ("https://\u{301}h/a?\u{301}sig=b", "https://\u{301}h/a?***"),
    ("https://u:p@\u{301}h/", "https://***@\u{301}h/"), ("/p?\u{301}a&sig=\u{301}b", "/p?\u{301}a&sig=***"),
  ])
  func `URLs in texts are masked`(text: String, expected: String) {
    #expect(Masking.text(text) == expected)
    #expect(Masking.text(expected) == expected)
  }

  @Test func `places and proxies are masked`() {
    #expect(Masking.place(.url("https://h/a?b c\"d")) == "https://h/a?***")
    #expect(Masking.place(.local("what?no")) == "what?no")
    #expect(Masking.place(.remote(endpoint: "e", path: "a?b")) == "e:a?b")
    #expect(Masking.withoutQuery("https://u:p@h/a?b#c") == "https://***@h/a")
    #expect(Masking.proxy("user:pa@ss@proxy:1") == "***@proxy:1")
    #expect(Masking.proxy("socks5h://proxy:1") == "socks5h://proxy:1")
  }

  @Test(arguments: [
    (Int64(0), "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (102_400, "100 KiB"),
    (1_048_575, "1.0 MiB"), (5 << 30, "5.0 GiB"), (.max, "8.0 EiB"),
  ])
  func `sizes`(bytes: Int64, expected: String) { #expect(Figures.bytes(bytes) == expected) }

  @Test(arguments: [
    (0.0, "0.0 s"), (0.44, "0.4 s"), (9.96, "10 s"), (59.6, "1 min 0 s"), (185, "3 min 5 s"),
    (7800, "2 h 10 min"), (273_600, "3 d 4 h"), (.infinity, "?"),
  ])
  func `durations`(seconds: Double, expected: String) { #expect(Figures.duration(seconds) == expected) }

  @Test(
    arguments: [
      (1_000_000, "1 MB/s"), (2_500_000, "2.5 MB/s"), (20_000_000, "20 MB/s"), (1 << 20, "1 MiB/s"),
      (512 << 10, "512 KiB/s"), (1_500_000_000, "1.5 GB/s"), (3 << 29, "1.5 GiB/s"), (1000, "1 KB/s"),
      (999, "999 B/s"), (1025, "1.0 KiB/s"), (.max, "8.0 EiB/s"),
    ] as [(Int64, String)])
  func `a limit is shown in the unit it was given in`(bytes: Int64, expected: String) {
    let rate = Rate.bytesPerSecond(bytes)
    #expect(Figures.bandwidth(Bandwidth(download: rate, upload: rate)) == expected)
  }

  @Test func `what is left`() {
    #expect(Figures.clock(6.2) == "0:07")
    #expect(Figures.clock(750) == "12:30")
    #expect(Figures.clock(7500) == "2:05:00")
    #expect(Figures.clock(.infinity) == "--:--")
    #expect(Figures.bytes(0, of: 2048) == "0/2.0 KiB")
    #expect(Figures.bytes(100, of: 2048) == "100 B/2.0 KiB")
    #expect(Figures.bytes(1 << 30, of: 3 << 30, isAtLeast: true) == "1.0/3.0+ GiB")
    #expect(Figures.count(1, "retry") == "1 retry" && Figures.count(2, "retry") == "2 retries")
  }

  @Test(arguments: [
    ("abc", 3), ("日本", 4), ("e\u{301}", 1), ("👩‍👩‍👧", 2), ("é", 1), ("한", 2), ("❤️", 2), ("", 0),
  ])
  func `columns`(text: String, expected: Int) { #expect(DisplayText.width(text) == expected) }

  @Test func `texts are cut by columns`() {
    #expect(DisplayText.truncated("abcdef", to: 4) == "abc…")
    #expect(DisplayText.truncated("日本語", to: 4) == "日…")
    #expect(DisplayText.elided("folder/file.bin", to: 9) == "fold….bin")
    for columns in 0...12 {
      #expect(DisplayText.width(DisplayText.elided("日本a語の名前b", to: columns)) <= columns)
    }
  }

  @Test func `controls are shown and not obeyed`() {
    #expect(DisplayText.safe("a\u{1b}[2Jb\nc") == "a\\x1b[2Jb\\x0ac")
    #expect(DisplayText.safe("x\u{202e}y\u{9b}") == "x\\u{202e}y\\x9b")
    #expect(DisplayText.safe("a\nb\t", keepingNewlines: true) == "a\nb\\x09")
    #expect(DisplayText.safe("plain é 👩‍👩‍👧") == "plain é 👩‍👩‍👧")
  }
}
