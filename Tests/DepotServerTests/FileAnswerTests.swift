import FoundationEssentials
import HTTPTypes
import Testing

@testable import DepotServer

@Suite struct FileAnswerTests {
  @Test func headAndWhole() async throws {
    try await Fixture.run { (fixture) async throws in
      let content = Fixture.bytes(2_000_000)
      fixture.put("a.pdf", content)
      let head = try await fixture.client.send("HEAD", "/files/a.pdf", ["Range": "bytes=0-1"])
      let whole = try await fixture.client.send("GET", "/files/a.pdf")
      #expect(head?.status == 200 && head?.body.isEmpty == true)
      #expect(whole?.status == 200 && whole?.body == content && whole?.isComplete == true)
      for name in ["content-length", "etag", "last-modified", "repr-digest", "content-type", "accept-ranges"]
      {
        #expect(head?.headers[name] == whole?.headers[name])
        #expect(whole?.headers[name] != nil)
      }
      #expect(whole?.headers["content-type"] == "application/pdf")
      #expect(whole?.headers["etag"]?.hasPrefix("\"") == true)
    }
  }

  @Test(arguments: [
    ("bytes=0-9", 206, "bytes 0-9/100000", 0..<10),
    ("bytes=-1", 206, "bytes 99999-99999/100000", 99_999..<100_000),
    ("bytes=99990-", 206, "bytes 99990-99999/100000", 99_990..<100_000),
    ("bytes=100000-", 416, "bytes */100000", 0..<0), ("bytes=0-1,5-6", 200, nil, 0..<100_000),
    ("bytes=x", 200, nil, 0..<100_000),
  ])
  func ranges(range: String, status: Int, contentRange: String?, bytes: Range<Int>) async throws {
    try await Fixture.run { (fixture) async throws in
      let content = Fixture.bytes(100_000)
      fixture.put("a", content)
      let reply = try await fixture.client.send("GET", "/files/a", ["Range": range])
      #expect(reply?.status == status)
      #expect(reply?.headers["content-range"] == contentRange)
      if status != 416 { #expect(reply?.body == Array(content[bytes])) }
    }
  }

  /// The digest of what the answer itself carries, for who asks (RFC 9530, 2 and 4).
  @Test(arguments: [
    ("sha-256=10", "bytes=10-19", 10..<20), ("sha-512=3, sha-256=1", "bytes=0-", 0..<100_000),
    ("SHA-256 = 1", "none", 0..<100_000), ("sha-256=0", "bytes=10-19", nil),
    ("sha-512=3", "bytes=10-19", nil),
    ("", "bytes=10-19", nil), ("sha-256", "bytes=10-19", nil), ("sha-256=1", "bytes=200000-", nil),
  ])
  func contentDigest(preference: String, range: String, bytes: Range<Int>?) async throws {
    try await Fixture.run { (fixture) async throws in
      let content = Fixture.bytes(100_000)
      fixture.put("a", content)
      let headers = ["Range": range, "Want-Content-Digest": preference]
      let told = try await fixture.client.send("GET", "/files/a", headers)?.headers["content-digest"]
      let hex = told.map { Data(base64Encoded: String($0.dropFirst(9).dropLast())) ?? Data() }?.map { $0 }
      #expect(hex.map { Hex.encode($0) } == bytes.map { Fixture.sha256(content[$0]) })
      #expect(told?.hasPrefix("sha-256=:") != false)
      let head = try await fixture.client.send("HEAD", "/files/a", headers)
      #expect(head?.headers["content-digest"] == nil, "a range is none of a HEAD's business")
    }
  }

  @Test func conditions() async throws {
    try await Fixture.run { (fixture) async throws in
      fixture.put("a", Fixture.bytes(100))
      let first = try await fixture.client.send("GET", "/files/a")
      let tag = first?.headers["etag"] ?? ""
      let date = first?.headers["last-modified"] ?? ""
      let range = ["Range": "bytes=0-9"]
      let table: [([String: String], Int)] = [
        (["If-Match": tag], 200), (["If-Match": "\"x\", \(tag)"], 200), (["If-Match": "\"x\""], 412),
        (["If-Match": "W/\(tag)"], 412), (["If-Match": "*"], 200), (["If-None-Match": tag], 304),
        (["If-None-Match": "W/\(tag)"], 304), (["If-None-Match": "\"x\""], 200),
        (["If-Modified-Since": date], 304), (["If-Unmodified-Since": "Sun, 06 Nov 1994 08:49:37 GMT"], 412),
        (["If-Range": tag], 206), (["If-Range": "W/\(tag)"], 200), (["If-Range": "\"x\""], 200),
        (["If-Range": "Sun, 06 Nov 1994 08:49:37 GMT"], 200),
      ]
      for (headers, status) in table {
        let all = headers.keys.contains("If-Range") ? headers.merging(range) { $1 } : headers
        #expect(try await fixture.client.send("GET", "/files/a", all)?.status == status, "\(headers)")
      }
      fixture.put("a", Fixture.bytes(100, seed: 2))
      let changed = try await fixture.client.send("GET", "/files/a", ["If-Range": tag, "Range": "bytes=0-9"])
      #expect(changed?.status == 200 && changed?.headers["etag"] != tag)
    }
  }

  @Test func ifRangeDateMustBeStrong() {
    let date = HTTPDate.format(1000)
    #expect(date == "Thu, 01 Jan 1970 00:16:40 GMT" && HTTPDate.parse(date) == 1000)
    let conditions = Conditions(headers: [.ifRange: date], etag: "\"e\"", modified: 1000)
    #expect(conditions.rangeStands(now: 1001))
    #expect(!conditions.rangeStands(now: 1000))
  }

  @Test func digestIsKept() async throws {
    try await Fixture.run { (fixture) async throws in
      let content = Fixture.bytes(500_000)
      fixture.put("a", content)
      try await Task.sleep(for: .milliseconds(80))
      await withTaskGroup(of: String?.self) { group in
        for _ in 0..<8 {
          group.addTask { try? await fixture.client.send("GET", "/files/a/meta")?.field("sha256") }
        }
        for await digest in group { #expect(digest == Fixture.sha256(content)) }
      }
      let lines = fixture.read(".depot/digests").map { String(decoding: $0, as: UTF8.self) } ?? ""
      #expect(lines.split(separator: "\n").count == 1)
      // A cache that is believed: what it says is what is answered, without reading the file.
      let key = lines.prefix { $0 != " " }
      let other = String(repeating: "ab", count: 32)
      fixture.put(".depot/digests", Array("\(key) \(other)\n\(key) torn".utf8))
      await fixture.depot.stop(grace: .zero)
      var options = DepotOptions(root: fixture.root)
      options.port = 0
      try await Fixture.restart(options) { (again) async throws in
        #expect(try await again.client.send("GET", "/files/a/meta")?.field("sha256") == other)
        fixture.put("a", content + [1])
        let fresh = try await again.client.send("GET", "/files/a/meta")?.field("sha256")
        #expect(fresh == Fixture.sha256(content + [1]))
      }
    }
  }

  @Test func tokenGuardsEverything() async throws {
    try await Fixture.run(faults: nil, { $0.token = "secret" }) { (fixture) async throws in
      fixture.put("a", [1])
      #expect(try await fixture.client.send("GET", "/files/a")?.status == 200)
      for token in [nil, "secre", "secret2", "Secret", ""] {
        let client = RawClient(port: fixture.depot.port, token: token)
        for path in ["/files/a", "/files/a/meta", "/uploads/sessions/x", "/nowhere"] {
          let reply = try await client.send("GET", path)
          #expect(reply?.status == 401 && reply?.headers["www-authenticate"] == "Bearer realm=\"depot\"")
        }
      }
    }
  }

  @Test func methodsAreNamed() async throws {
    try await Fixture.run { (fixture) async throws in
      let reply = try await fixture.client.send("PUT", "/files/a", body: [1])
      #expect(reply?.status == 405 && reply?.headers["allow"] == "GET, HEAD")
    }
  }
}
