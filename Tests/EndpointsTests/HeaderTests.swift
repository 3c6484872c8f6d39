import Endpoints
import JobModel
import Testing

/// What headers mean: Content-Range, digests, Content-Disposition, dates, lists.
struct HeaderTests {
  @Test func contentRanges() {
    for (text, range, total) in [
      ("bytes 0-9/10", 0..<10, 10), ("bytes 5-5/*", 5..<6, nil), ("bytes */1234", nil, 1234),
      ("BYTES 0-0/1", 0..<1, 1),
      ("bytes 0-1152921504606846975/1152921504606846976", 0..<(1 << 60), 1 << 60),
      ("bytes  3-4/9", 3..<5, 9),
    ] as [(String, Range<Int64>?, Int64?)] {
      let read = ContentRange(text)
      #expect(read != nil && read?.range == range && read?.total == total, "\(text)")
    }
    for text in [
      "", "bytes", "bytes 0-9", "bytes 9-0/10", "bytes 0-10/10", "bytes 0-9/9", "bytes */*", "bytes -5/10",
      "bytes 0-/10", "items 0-9/10", "bytes=0-9/10", "bytes 0-9/x", "bytes 0-9223372036854775807/*",
      "bytes 0-9223372036854775808/*", "bytes 0-99999999999999999999/*", "bytes +0-9/10", "bytes 0-9/-10",
      "bytes 0 - 9 / 1 0", "bytes ٠-٩/١٠",
    ] {
      #expect(ContentRange(text) == nil, "`\(text)` was read")
    }
  }

  @Test func digests() {
    // Of the text `hello`.
    let sha256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    let md5 = "5d41402abc4b2a76b9719d911017c592"
    let sha256Text = "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ="
    let md5Text = "XUFAKrxLKna5cZ2REBfFkg=="
    for (status, headers, wanted) in [
      (200, ["Repr-Digest": "sha-256=:\(sha256Text):"], [.sha256: sha256]),
      (206, ["Repr-Digest": "sha-256=:\(sha256Text):"], [.sha256: sha256]),
      (200, ["Content-Digest": "sha-256=:\(sha256Text):"], [.sha256: sha256]),
      (206, ["Content-Digest": "sha-256=:\(sha256Text):"], [:]),
      (200, ["Digest": "SHA-256=\(sha256Text)"], [.sha256: sha256]),
      (206, ["Digest": "SHA-256=\(sha256Text)"], [:]),
      (
        206, ["Digest": "SHA-256=\(sha256Text)", "Content-Range": "bytes 0-4/5"], [.sha256: sha256]
      ),
      (
        206, ["Content-Digest": "sha-256=:\(sha256Text):", "Content-Range": "bytes 0-4/5"],
        [.sha256: sha256]
      ),
      (206, ["Content-MD5": md5Text, "Content-Range": "bytes 0-4/5"], [.md5: md5]),
      (206, ["Content-MD5": md5Text, "Content-Range": "bytes 0-4/6"], [:]),
      (206, ["Content-MD5": md5Text, "Content-Range": "bytes 0-4/*"], [:]),
      (416, ["Content-MD5": md5Text, "Content-Range": "bytes */5"], [:]),
      (200, ["Digest": "md5=\(md5Text), SHA-256=\(sha256Text)"], [.md5: md5, .sha256: sha256]),
      (200, ["Content-MD5": md5Text], [.md5: md5]), (206, ["Content-MD5": md5Text], [:]),
      (200, ["Repr-Digest": "md5=:\(md5Text):, sha-256=:\(sha256Text):;p=1"], [.md5: md5, .sha256: sha256]),
      (200, ["Repr-Digest": "sha-256=\(sha256Text)"], [:]), (200, ["Repr-Digest": "sha-256=:AAAA:"], [:]),
      (200, ["Repr-Digest": "sha-256=:***:"], [:]), (200, ["Repr-Digest": "sha-999=:\(sha256Text):"], [:]),
      (200, ["Repr-Digest": "sha-256"], [:]), (200, ["Repr-Digest": ""], [:]),
      (200, ["Repr-Digest": "=,=,,"], [:]),
      (200, ["Content-MD5": "nonsense"], [:]), (200, ["ETag": "\"\(md5)\""], [:]),
      (200, ["Repr-Digest": "sha-256=::"], [:]),
      (
        206, ["x-goog-hash": "crc32c=mnG7TA==,md5=\(md5Text)", "x-goog-stored-content-encoding": "identity"],
        [.crc32c: "9a71bb4c", .md5: md5]
      ),
      (200, ["x-goog-hash": "md5=\(md5Text)", "x-goog-stored-content-encoding": "gzip"], [:]),
      (200, ["x-goog-hash": "md5=\(md5Text)"], [:]),
    ] as [(Int, [String: String], [DigestAlgorithm: String])] {
      var list = HeaderList()
      for (name, value) in headers { list.append(name, value) }
      #expect(
        DigestHeaders.wholeFile(ResponseHead(status: status, headers: list)) == wanted, "\(status) \(headers)"
      )
    }
    let two: HeaderList = ["repr-digest": "md5=:\(md5Text):", "Repr-Digest": "sha-256=:\(sha256Text):"]
    #expect(DigestHeaders.wholeFile(ResponseHead(status: 206, headers: two)).count == 2)
  }

  @Test func contentDigests() {
    let sha256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    let text = "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ="
    for (value, wanted) in [
      ("sha-256=:\(text):", sha256), ("md5=:XUFAKrxLKna5cZ2REBfFkg==:, sha-256=:\(text):", sha256),
      ("md5=:XUFAKrxLKna5cZ2REBfFkg==:", nil), ("sha-256=\(text)", nil), ("sha-512=:\(text):", nil),
      ("", nil),
    ] as [(String, String?)] {
      for status in [200, 206] {
        let head = ResponseHead(status: status, headers: ["Content-Digest": value])
        #expect(DigestHeaders.content(head)?.hex == wanted, "\(value)")
      }
    }
    let whole = ResponseHead(status: 206, headers: ["Repr-Digest": "sha-256=:\(text):"])
    #expect(DigestHeaders.content(whole) == nil)
  }

  @Test func dispositions() {
    for (value, name) in [
      ("attachment", nil), ("attachment; filename=a.txt", "a.txt"),
      (#"attachment; filename="a b.txt""#, "a b.txt"),
      (#"attachment; filename="a \"b\".txt""#, #"a "b".txt"#), ("attachment;FILENAME = a.txt ;x=y", "a.txt"),
      ("attachment; filename*=UTF-8''%e2%82%ac%20rates.txt; filename=EURO.txt", "€ rates.txt"),
      ("attachment; filename=EURO.txt; filename*=utf-8'en'%C3%A4.txt", "ä.txt"),
      ("attachment; filename*=ISO-8859-1''%e4.txt; filename=a.txt", "a.txt"),
      (#"attachment; filename="a;b=c.txt"; size=3"#, "a;b=c.txt"), ("inline; filename", nil), ("", nil),
    ] as [(String, String?)] {
      #expect(ContentDisposition.fileName(value) == name, "\(value)")
    }
  }

  @Test func namesAreSanitised() throws {
    for (name, wanted) in [
      ("a.txt", "a.txt"), ("../../etc/passwd", "passwd"), ("/etc/passwd", "passwd"),
      ("..\\..\\x.exe", "x.exe"),
      ("a/b\\c", "c"), ("..", nil), (".", nil), ("", nil), ("/", nil), ("a/..", nil),
      ("a\u{0}b\n.txt", "ab.txt"),
      ("a\u{7f}", "a"), ("\u{1}", nil), ("dir/", "dir"), (".\u{0}.", nil), ("ü", "ü"),
      ("\u{1}.bashrc", "bashrc"), (".\u{7f}..\u{1}.x", "x"), (".\u{301}x", "\u{301}x"),
    ] as [(String, String?)] {
      #expect(ContentDisposition.sanitised(name) == wanted, "\(name.debugDescription)")
    }
    // A slash that a combining mark follows is one character to Swift, and a slash to the file system.
    for name in ["../\u{301}x", "a/\u{200d}b", "..\\\u{301}x", "x/\u{fe0f}", "/\u{301}"] {
      let safe = ContentDisposition.sanitised(name)
      #expect(
        safe.map { !$0.utf8.contains(UInt8(ascii: "/")) && !$0.utf8.contains(UInt8(ascii: "\\")) } ?? true)
    }
    let long = try #require(ContentDisposition.sanitised(String(repeating: "漢", count: 200)))
    #expect(long.utf8.count <= 255 && long.utf8.count > 250 && long.allSatisfy { $0 == "漢" })
    let kind = try #require(ContentDisposition.sanitised(String(repeating: "漢", count: 200) + ".tar.gz"))
    #expect(kind.utf8.count <= 255 && kind.utf8.count > 250 && kind.hasSuffix("漢.gz"))
    let dotted = "a." + String(repeating: "b", count: 300)
    #expect(ContentDisposition.sanitised(dotted) == String(dotted.prefix(255)))
  }

  @Test func dates() {
    #expect(HTTPDate.seconds("Sun, 06 Nov 1994 08:49:37 GMT") == 784_111_777)
    #expect(HTTPDate.seconds("Thu, 01 Jan 1970 00:00:00 GMT") == 0)
    #expect(HTTPDate.seconds("Sun, 6 Nov 1994 08:49:37 GMT") == 784_111_777)
    #expect(HTTPDate.seconds("Thu, 29 Feb 2024 23:59:59 GMT") == 1_709_251_199)
    // The forms of RFC 850 and of C's asctime.
    #expect(HTTPDate.seconds("Sunday, 06-Nov-94 08:49:37 GMT") == 784_111_777)
    #expect(HTTPDate.seconds("Thursday, 29-Feb-24 23:59:59 GMT") == 1_709_251_199)
    #expect(HTTPDate.seconds("Thursday, 01-Jan-70 00:00:00 GMT") == 0)
    #expect(HTTPDate.seconds("Sun Nov  6 08:49:37 1994") == 784_111_777)
    #expect(HTTPDate.seconds("Thu Feb 29 23:59:59 2024") == 1_709_251_199)
    for text in [
      "", "yesterday", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 06 Foo 1994 08:49:37 GMT",
      "Sun, 06 Nov 1994 08:49 GMT",
      "06 Nov 1994 08:49:37 GMT", "Sun, x Nov 1994 08:49:37 GMT", "Sun, 46 Nov 1994 08:49:37 GMT",
      "Sun, 06 Nov 1994 28:49:37 GMT", "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
      "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 0994 08:49:37 GMT", "Sun, 06-Nov-1994 08:49:37 GMT",
      "Sun, +6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08.49.37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT x",
      "Mon, 31 Feb 2025 08:49:37 GMT", "Sat, 29 Feb 2025 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37",
      "Sunday, 31-Feb-94 08:49:37 GMT", "Sunday, 06-Nov-94-1 08:49:37 GMT", "Sunday, 06-Nov 94 08:49:37 GMT",
      "Sun Nov 6 08:49:37 1994 GMT", "Sun Nov 31 08:49:37 1994", "Sun Nov 6 08:49:37", "Nov 6 08:49:37 1994",
      "Sun, 06 Nov 1994 08:49:37:00 GMT", "Sun, 06 Novx 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37",
    ] {
      #expect(HTTPDate.seconds(text) == nil, "`\(text)` was read")
    }
  }

  @Test func retryAfter() {
    for (value, wanted) in [
      ("0", 0), ("120", 120), ("Thu, 01 Jan 1970 00:01:00 GMT", 50), ("Thu, 01 Jan 1970 00:00:05 GMT", 0),
      ("soon", nil), ("-1", nil), ("", nil), ("1e300", nil), ("nan", nil),
      // A day is the longest that is believed.
      ("86400", 86_400), ("86401", 86_400), ("9223372036854775807", 86_400), ("9223372036854775808", 86_400),
      (String(repeating: "9", count: 400), 86_400), ("Fri, 31 Dec 9999 23:59:59 GMT", 86_400),
    ] as [(String, Double?)] {
      #expect(HTTPFailure.retryAfter(["Retry-After": value], now: 10) == wanted, "\(value)")
    }
    #expect(HTTPFailure.retryAfter([:], now: 10) == nil)
    // A server whose clock is ahead, or that tells no time.
    for (date, wanted) in [("Thu, 01 Jan 1970 01:00:00 GMT", 2), ("soon", 3592)] as [(String, Double)] {
      let headers: HeaderList = ["Date": date, "Retry-After": "Thu, 01 Jan 1970 01:00:02 GMT"]
      #expect(HTTPFailure.retryAfter(headers, now: 10) == wanted, "\(date)")
    }
  }

  @Test func statusCodes() throws {
    for (status, code) in [
      (400, .protocolViolation), (401, .unauthorized), (403, .forbidden), (404, .notFound),
      (405, .protocolViolation),
      (407, .unauthorized), (408, .serverError), (410, .notFound), (416, .rangeInvalid), (429, .rateLimited),
      (451, .forbidden), (500, .serverError), (502, .serverError), (503, .serverError), (504, .serverError),
      (507, .serverError), (599, .serverError), (302, .protocolViolation), (304, .protocolViolation),
    ] as [(Int, ErrorCode)] {
      #expect(HTTPFailure.code(status) == code, "\(status)")
    }
    let url = try #require(WebURL("http://h/p?sig=secret"))
    let body = Array(#"{"code":"X_Y","detail":"what\nhappened"}"#.utf8)
    let response = Response(
      head: ResponseHead(status: 503, headers: ["Retry-After": "7"]), body: body, url: url)
    let failure = HTTPFailure.of(response, doing: "read", now: 0)
    #expect(failure.code == .serverError && failure.httpStatus == 503 && failure.retryAfter == 7)
    #expect(failure.message.contains("X_Y") && !failure.message.contains("secret"))
  }

  @Test func lists() {
    var list: HeaderList = ["ETag": "\"a\"", "X": "1"]
    list.append("x", "2", isSecret: true)
    #expect(list["etag"] == "\"a\"" && list["X"] == "1" && list.combined("X") == "1, 2")
    list.removeSecrets()
    #expect(list.combined("x") == "1")
    list.set("x", "3")
    #expect(list.combined("X") == "3")
    list.remove("ETAG")
    #expect(list["ETag"] == nil)
  }
}
