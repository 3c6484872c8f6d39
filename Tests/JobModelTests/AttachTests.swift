import JobModel
import Testing

/// What an attach request says, and what tells it from others.
struct AttachTests {
  private static func text(_ text: String) throws -> InterpolatedText { try InterpolationParser.parse(text) }

  private static var values: AttachValues {
    var values = AttachValues(
      id: "masters/a b.mov", path: "masters/a b.mov", digests: [.sha256: "aa", .md5: "bb"], size: 42)
    values.remoteID = "bucket/a?b"
    values.etag = "\"e\""
    values.contentType = "video/mp4"
    return values
  }

  private static let run = RunValues(id: "R1", startedAt: 1_795_478_400)

  @Test(arguments: [
    ("${file.remote_id}", "bucket/a?b"), ("${file.version}", ""), ("${file.version|default(none)}", "none"),
    ("${file.etag}", "\"e\""), ("${file.sha256}-${file.md5}-${file.sha512}", "aa-bb-"),
    ("${file.size} bytes", "42 bytes"), ("${file.content_type}", "video/mp4"),
    ("${file.path|basename}", "a b.mov"), ("${id|url}", "masters%2Fa%20b.mov"),
    ("${run.id} ${run.date}", "R1 2026-11-24"), ("plain", "plain"),
  ])
  func texts(_ text: String, _ wanted: String) throws {
    #expect(Self.values.text(try Self.text(text), run: Self.run) == wanted)
  }

  @Test func everyDigestHasAName() {
    for algorithm in DigestAlgorithm.allCases {
      #expect(FileFact(name: "file.\(algorithm.rawValue)") == .digest(algorithm))
    }
    #expect(Set(FileFact.allCases.map(\.name)).count == FileFact.allCases.count)
    #expect(FileFact(name: "file.nosuch") == nil)
  }

  /// On an endpoint the whole path is encoded, later; in a URL each value of the file by itself.
  @Test(
    arguments: [
      ("api", "records/${file.remote_id}", "records/bucket/a?b"),
      (nil, "https://h/r/${file.remote_id}?s=${file.size}", "https://h/r/bucket%2Fa%3Fb?s=42"),
      (nil, "https://h/${file.remote_id|url}", "https://h/bucket%2Fa%3Fb"),
      (nil, "https://h/../x", "https://h/../x"),
    ] as [(String?, String, String)])
  func addresses(_ endpoint: String?, _ target: String, _ wanted: String) throws {
    let template = AttachTemplate(.put, endpoint: endpoint, target: try Self.text(target))
    #expect(try template.request(Self.values, run: Self.run).target == wanted)
  }

  /// What a server calls a file leads no request elsewhere, and begins no other header.
  @Test(
    arguments: [
      ("api", "records/${file.remote_id}/x", "../.."), ("api", "records/${file.remote_id}", "."),
      (nil, "https://h/${file.remote_id}/x", ".."), (nil, "https://h/%2e${file.remote_id}", "."),
    ] as [(String?, String, String)])
  func climbingAddresses(_ endpoint: String?, _ target: String, _ remoteID: String) throws {
    var values = Self.values
    values.remoteID = remoteID
    let template = AttachTemplate(.post, endpoint: endpoint, target: try Self.text(target))
    #expect(throws: ValueFault.self) { try template.request(values, run: nil) }
  }

  /// A value that the server did not tell is empty, but not in the address.
  @Test(
    arguments: [
      ("api", "records/${file.version}", true), (nil, "https://h/${file.version}/tie", true),
      (nil, "https://h/r?v=${file.sha512}", true), ("api", "records/${file.version|default(0)}", false),
      ("api", "records/${file.etag}", false),
    ] as [(String?, String, Bool)])
  func emptyAddresses(_ endpoint: String?, _ target: String, _ isRefused: Bool) throws {
    let body = JSONTemplate.text(try Self.text("${file.version}"))
    let template = AttachTemplate(.put, endpoint: endpoint, target: try Self.text(target), body: body)
    guard isRefused else { return #expect(try template.request(Self.values, run: nil).body == "\"\"") }
    #expect(throws: ValueFault.self) { try template.request(Self.values, run: nil) }
  }

  @Test func headersOfOneLine() throws {
    var template = AttachTemplate(.post, endpoint: "api", target: InterpolatedText("r"))
    template.headers = [.init(name: "X-Tag", value: .text(try Self.text("${file.etag}")))]
    var values = Self.values
    #expect(try template.request(values, run: nil).headers == [.init(name: "X-Tag", value: .text("\"e\""))])
    values.etag = "a\r\nX-Evil: 1"
    #expect(throws: ValueFault.self) { try template.request(values, run: nil) }
  }

  @Test func bodies() throws {
    var template = AttachTemplate(.post, endpoint: "api", target: InterpolatedText("r"))
    #expect(try template.request(Self.values, run: nil).body == nil)
    template.body = .mapping([
      .init("id", .text(try Self.text("${file.remote_id}"))),
      .init("size", .text(try Self.text("${file.size}"))),
      .init("list", .list([.value(.integer(1)), .value(.null), .text(try Self.text("${file.etag}"))])),
    ])
    #expect(
      try template.request(Self.values, run: nil).body
        == #"{"id":"bucket/a?b","size":"42","list":[1,null,"\"e\""]}"#)
    #expect(template.digests.isEmpty)
    template.headers = [.init(name: "X-Sum", value: .text(try Self.text("${file.md5}")))]
    #expect(template.digests == [.md5])
  }

  /// The run's values are no part of what tells a request from others, and secrets' places are none.
  @Test func descriptions() throws {
    func template(_ body: String, _ secret: String) throws -> AttachTemplate {
      AttachTemplate(
        .post, endpoint: "api", target: InterpolatedText("r"), body: .text(try Self.text(body)),
        headers: [.init(name: "X-Key", value: .secret(.environment(secret)))])
    }
    func description(_ body: String, _ secret: String = "A") throws -> String {
      try template(body, secret).request(Self.values, run: nil).description
    }
    #expect(try description("${run.id} ${file.size}") == description("${run.id} 42", "B"))
    #expect(try description("${run.id}") != description("${run.date}"))
    #expect(try description("a") != description("b"))
    // A URL's query may be a signature; on an endpoint there is no query.
    func address(_ endpoint: String?, _ target: String) -> String {
      AttachRequest(.put, endpoint: endpoint, target: target).description
    }
    #expect(address(nil, "https://h/r/7?sig=1") == address(nil, "https://h/r/7?sig=2"))
    #expect(address(nil, "https://h/r/7?sig=1") != address(nil, "https://h/r/8?sig=1"))
    #expect(address(nil, "https://h/r?record=1") != address(nil, "https://h/r?record=2"))
    #expect(address("api", "r?1") != address("api", "r?2"))
  }

  @Test func statuses() {
    var template = AttachTemplate(.post, endpoint: nil, target: InterpolatedText("https://h/x"))
    #expect(template.isExpected(204) && !template.isExpected(304) && !template.isExpected(404))
    template.statuses = [200, 409]
    #expect(template.isExpected(409) && !template.isExpected(201))
  }

  @Test(arguments: [
    (AttachTemplate(.put, endpoint: "api", target: InterpolatedText("r/1")), "PUT api:r/1"),
    (
      AttachTemplate(.patch, endpoint: nil, target: InterpolatedText("https://h/x?key=1")),
      "PATCH https://h/x?***"
    ),
  ])
  func written(_ template: AttachTemplate, _ wanted: String) { #expect(template.written == wanted) }

  /// A new file has a new request; what only interrupts keeps it.
  @Test func restarts() {
    for reason in RestartReason.allCases {
      var progress = TransferProgress()
      progress.apply(.completed(at: 1))
      progress.apply(.attaching(AttachRecord(key: "k", identity: "i", request: nil)))
      progress.apply(.restarted(reason))
      #expect((progress.attach != nil) == reason.keeps.contains(.completion), "\(reason)")
      #expect(progress.isAttaching == reason.keeps.contains(.completion), "\(reason)")
    }
  }

  @Test func progress() {
    var progress = TransferProgress()
    let request = AttachRequest(.post, endpoint: "api", target: "r")
    progress.apply(.attaching(AttachRecord(key: "k", identity: "i", request: request)))
    #expect(!progress.isAttaching, "its bytes are not complete")
    progress.apply(.completed(at: 1))
    progress.apply(.attachTried(3, .refused, status: 404, at: 2))
    #expect(progress.isAttaching && progress.attach?.request == request && progress.attach?.status == 404)
    progress.apply(.attachTried(1, .attached, status: 201, at: 3))
    #expect(!progress.isAttaching && progress.attach?.request == nil && progress.attach?.tries == 4)
    #expect(progress.attach?.status == 201 && progress.attach?.at == 3)
  }
}
