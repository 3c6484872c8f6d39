import Testing

@testable import Endpoints

@Suite struct ErrorBodyTests {
  @Test(
    arguments: [
      ("text/plain", "\n  quota   exceeded \nmore", "quota exceeded"),
      ("text/plain; charset=utf-8", "", ""),
      (
        "text/html", "<html><HEAD><Title>400 The plain HTTP\n request</TITLE></head>x",
        "400 The plain HTTP request"
      ),
      ("text/html", "<html>no title", ""), ("text/html", "<title>cut", ""),
      ("application/json", #"{"error":{"message":"no room"}}"#, "no room"),
      ("application/json", #"{"error":"invalid_grant","error_description":"expired"}"#, "expired"),
      ("application/json", #"{"code":5}"#, ""), ("application/json", "[", ""),
      ("application/octet-stream", "\u{1}\u{2}", ""),
      ("application/problem+json", #"{"code":"X","detail":"why"}"#, "X: why"),
      ("text/plain", String(repeating: "a", count: 300), String(repeating: "a", count: 200) + "…"),
    ])
  func `what a server says of an error`(type: String, body: String, expected: String) throws {
    let head = ResponseHead(status: 400, headers: ["Content-Type": type])
    let response = Response(head: head, body: Array(body.utf8), url: try #require(WebURL("http://h/x")))
    #expect(ErrorBody.summary(response) == expected)
  }
}
