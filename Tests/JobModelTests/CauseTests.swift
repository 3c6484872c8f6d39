import JobModel
import Testing

@Suite struct CauseTests {
  @Test(
    arguments: [
      (
        "download: HTTP 404 (gone) from https://h.example:8443/a/b.bin?x=1", "in/b.bin",
        "download: HTTP 404 (gone) from https://h.example:8443/…"
      ),
      ("write `out/b.bin`: Permission denied", "b", "write `…`: Permission denied"),
      ("`my file.bin` is gone", "in/my file.bin", "`…` is gone"),
      ("2 chunks of 30 are damaged", "x", "… chunks of … are damaged"),
      (
        "Failed to connect to 127.0.0.1 port 81 after 12 ms", "x",
        "Failed to connect to 127.0.0.1 port 81 after … ms"
      ),
      ("not text/html, but application/pdf", "x", "not text/html, but application/pdf"),
      ("sha256 is 0123456789abcdef0123456789abcdef", "x", "sha256 is …"),
      ("the bytes of in/b.bin differ", "in/b.bin", "the bytes of … differ"),
      ("a word stays a word", "a word", "a word stays a word"),
      ("HTTP 404 from https://h/a/404", "a/404", "HTTP 404 from https://h/…"),
      ("HTTP 404 (404 Not Found) for 12", "a", "HTTP 404 (404 Not Found) for …"),
      ("404 of 500 are there", "a/404", "… of … are there"),
      ("`https://h/a b` and `a`: (\"12\").", "b/a", "`https://h/…` and `…`: (\"…\")."),
      ("größe a: b://c?d ː é", "é", "größe a: b://c/… ː …"),
      ("", "x", ""), ("`odd", "x", "`odd"),
    ])
  func `what names one transfer is taken out`(message: String, id: String, expected: String) {
    #expect(CauseMessage.general(message, id: id) == expected)
  }

  @Test func `a host is told where it has a part in it`() {
    let message = "HTTP 503 from http://h.example:81/a"
    #expect(Cause(Failure(.serverError, message), id: "a").host == "h.example:81")
    #expect(Cause(Failure(.serverError, "no answer"), id: "a", host: "own").host == "own")
    #expect(Cause(Failure(.diskFull, message), id: "a", host: "own").host == nil)
  }

  @Test(
    arguments: [
      ("needs:in/b.bin", "needs:…"), ("needs:", "needs:…"), ("disabled", "disabled"), (nil, nil),
    ] as [(String?, String?)])
  func `needs are one reason`(reason: String?, expected: String?) {
    #expect(Cause.group(of: reason) == expected)
  }

  @Test func `what failed comes before what waits`() {
    let states = ["queued", "paused", "skipped", "failed"]
    let sorted = states.sorted { Cause.rank(of: $0) < Cause.rank(of: $1) }
    #expect(sorted == ["failed", "skipped", "paused", "queued"])
  }

  @Test func `a tally is bounded`() {
    var tally = CauseTally()
    for index in 0..<5000 {
      let cause = Cause(code: "TIMEOUT", host: nil, message: "m\(index)")
      tally.add(cause, id: "t\(index)", example: "m\(index)")
    }
    #expect(tally.all.count == CauseTally.limit + 1)
    #expect(tally.all.reduce(0) { $0 + $1.count } == 5000)
    #expect(tally.all.last?.count == 5000 - CauseTally.limit && tally.all.last?.ids.count == 3)
    #expect(CauseTally.names(["a", "b", "c"], of: 3) == "a, b, c")
    #expect(CauseTally.names(["a", "b", "c"], of: 1997) == "a, b, c and 1994 more")
  }
}
