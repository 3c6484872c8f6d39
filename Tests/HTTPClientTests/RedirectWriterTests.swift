import Endpoints
import JobModel
import Testing

@testable import HTTPClient

/// Which heads are a detour, and which the real sink sees.
struct RedirectSinkTests {
  private func sink(
    _ method: String = "GET", renew: Bool = false, renewURL: Bool = false, follows: Bool = true,
    patience: Duration = .seconds(600)
  ) throws -> (RedirectWriter, ResponseBuffer) {
    let inner = ResponseBuffer()
    let url = try #require(WebURL("https://h/a/b?x=1"))
    return (
      RedirectWriter(
        origin: url, method: method, canRenew: renew, canRenewURL: renewURL,
        followsRedirect: { _ in follows },
        inner: inner, patience: patience), inner
    )
  }

  @Test(arguments: [301, 302, 303, 307, 308])
  func redirects(status: Int) throws {
    let (sink, inner) = try sink()
    try sink.head(ResponseHead(status: status, headers: ["Location": "../c"]))
    guard case .redirect(let target) = sink.detour else { return #expect(Bool(false), "no detour") }
    #expect("\(target)" == "https://h/c" && inner.responseHead == nil && sink.status == status)
    try [1, 2].withUnsafeBytes { try sink.body($0) }
    #expect(inner.bytes.isEmpty, "a redirect's page is not the file")
  }

  /// A page or a refusal that comes a byte at a time is not waited for; a file is.
  @Test func slowRefusals() throws {
    for (status, isCut) in [(302, true), (403, true), (200, false)] {
      let (sink, _) = try sink(patience: .zero)
      try sink.head(ResponseHead(status: status, headers: ["Location": "/c"]))
      let body = { try [1, 2].withUnsafeBytes { try sink.body($0) } }
      if isCut {
        #expect(throws: RedirectWriter.Enough.self) { try body() }
      } else {
        try body()
      }
    }
  }

  @Test(arguments: [
    ("PUT", 303, true, "/c"), ("GET", 302, false, "/c"), ("GET", 302, true, nil as String?),
    ("GET", 304, true, "/c"),
  ])
  func othersAreForTheRealSink(_ method: String, _ status: Int, _ follows: Bool, _ location: String?) throws {
    let (sink, inner) = try sink(method, follows: follows)
    var headers = HeaderList()
    if let location { headers.append("Location", location) }
    try sink.head(ResponseHead(status: status, headers: headers))
    #expect(sink.detour == nil && inner.responseHead?.status == status)
  }

  @Test(arguments: ["ftp://h/c", "https://user@h/c"])
  func somePlacesAreNoneToGoTo(location: String) throws {
    let (sink, _) = try sink()
    let failure = #expect(throws: Failure.self) {
      try sink.head(ResponseHead(status: 302, headers: ["Location": location]))
    }
    #expect(failure?.code == .policyDenied)
  }

  @Test func refusalsThatCanBeMended() throws {
    for (status, renew, renewURL, isDetour) in [
      (401, true, false, true), (401, false, true, false), (403, false, true, true),
      (403, true, false, false),
    ] {
      let (sink, inner) = try sink(renew: renew, renewURL: renewURL)
      try sink.head(ResponseHead(status: status, headers: ["Date": "Thu, 01 Jan 1970 00:00:10 GMT"]))
      #expect((sink.detour != nil) == isDetour && (inner.responseHead == nil) == isDetour)
      #expect(sink.date == 10)
    }
  }
}
