import Endpoints
import JobModel
import Testing

/// What goes along with an object of S3: told in headers, sent in headers.
struct S3AttributesTests {
  private static func upload(_ change: (inout S3Settings) -> Void = { _ in }) throws -> S3Upload {
    var settings = S3Settings()
    settings.bucket = "bkt"
    change(&settings)
    let base = try #require(WebURL("http://h"))
    return S3Upload(address: S3Address(base: base, settings: settings), settings: settings, key: "k")
  }

  private static func download() throws -> S3Download {
    var settings = S3Settings()
    settings.bucket = "bkt"
    let base = try #require(WebURL("http://h"))
    return S3Download(address: S3Address(base: base, settings: settings), settings: settings, key: "k")
  }

  private static let told: HeaderList = [
    "Content-Type": "text/plain", "Content-Length": "3", "ETag": "\"e\"", "Cache-Control": "max-age=60",
    "Content-Encoding": "aws-chunked,gzip", "Content-Language": "de",
    "X-Amz-Meta-Owner": "=?UTF-8?Q?J=C3=BCrg?=",
    "x-amz-meta-mtime": "1700000000.123456789", "x-amz-meta-mode": "100640", "x-amz-tagging-count": "2",
    "x-amz-storage-class": "STANDARD_IA",
  ]

  @Test func whatHeadersTell() throws {
    let response = Response(
      head: ResponseHead(status: 200, headers: Self.told), url: try #require(WebURL("http://h/bkt/k")))
    let attributes = try Self.download().probed(response, now: 0).get().attributes
    #expect(attributes.headers == [.cacheControl: "max-age=60", .encoding: "gzip", .language: "de"])
    // As it came: S3 encodes what is no ASCII.
    #expect(attributes.metadata["owner"] == "=?UTF-8?Q?J=C3=BCrg?=" && attributes.metadata.count == 3)
    #expect(attributes.mtime == 1_700_000_000_123_456_789 && attributes.mode == 0o640)
    #expect(attributes.tagCount == 2 && attributes.tags == nil && attributes.storageClass == "STANDARD_IA")
  }

  @Test func numbersThatMakeNoSense() throws {
    let headers: HeaderList = [
      "x-amz-meta-mtime": "99999999999999999999", "x-amz-meta-mode": "999", "x-amz-tagging-count": "many",
      "x-amz-storage-class": "", "Content-Encoding": "identity", "x-amz-meta-": "nameless",
    ]
    let response = Response(
      head: ResponseHead(status: 200, headers: headers), url: try #require(WebURL("http://h/bkt/k")))
    let attributes = try Self.download().probed(response, now: 0).get().attributes
    #expect(attributes.mtime == nil && attributes.mode == nil && attributes.tagCount == nil)
    #expect(attributes.storageClass == nil && attributes.headers.isEmpty)
    #expect(attributes.metadata.count == 2)
  }

  @Test func tagsAreAskedForAndRead() throws {
    let request = try #require(try Self.download().askTags(of: RemoteObject()))
    #expect(request.method == "GET" && request.url.text.hasSuffix("/k?tagging="))
    func read(_ status: Int, _ body: String) throws -> Result<[String: String], Failure> {
      try Self.download().tags(
        Response(head: ResponseHead(status: status), body: Array(body.utf8), url: request.url), now: 0)
    }
    let tags =
      "<Tagging><TagSet><Tag><Key>a</Key><Value>b &amp; c</Value></Tag><Tag><Key>d</Key><Value/></Tag></TagSet></Tagging>"
    #expect(try read(200, tags).get() == ["a": "b & c", "d": ""])
    #expect(try read(200, "<Tagging><TagSet/></Tagging>").get() == [:])
    for (status, body) in [
      (200, "<html/>"), (200, "<Error><Code>AccessDenied</Code></Error>"), (501, ""), (403, ""),
    ] {
      guard case .failure = try read(status, body) else {
        Issue.record("\(status) \(body)")
        continue
      }
    }
  }

  /// The transfer's own words over the source's, those over the endpoint's; names one by one.
  @Test func whoseWordCounts() throws {
    let upload = try Self.upload {
      ($0.metadata, $0.tags) = (
        ["Owner": "endpoint", "place": "endpoint"], ["a": "endpoint", "b": "endpoint"]
      )
      ($0.cacheControl, $0.storageClass) = ("endpoint", "GLACIER")
      $0.multipartThreshold = 1
    }
    var source = UploadSource(size: 5, contentType: "text/x", chunkSize: 5)
    func headers(_ source: UploadSource) throws -> HeaderList {
      let opened = try #require(upload.open(source, renewing: nil)).headers
      let whole = upload.put(UploadChunk(index: 0, range: 0..<5), session: nil, source: source).headers
      for name in ["x-amz-meta-owner", "x-amz-tagging", "Cache-Control", "x-amz-storage-class"] {
        #expect(opened[name] == whole[name])
      }
      return whole
    }
    let plain = try headers(source)
    #expect(plain["x-amz-meta-owner"] == "endpoint" && plain["x-amz-tagging"] == "a=endpoint&b=endpoint")
    #expect(plain["Cache-Control"] == "endpoint" && plain["x-amz-storage-class"] == "GLACIER")
    source.preserved.metadata = ["owner": "source", "kind": "source"]
    source.preserved.tags = ["b": "source", "c": "so & on"]
    source.preserved.headers = [.cacheControl: "no-store", .disposition: "inline", .encoding: "gzip"]
    source.preserved.storageClass = "STANDARD_IA"
    (source.preserved.mtime, source.preserved.mode) = (1_700_000_000_500_000_000, 0o640)
    let preserved = try headers(source)
    #expect(preserved["x-amz-meta-owner"] == "source" && preserved["x-amz-meta-kind"] == "source")
    #expect(preserved["x-amz-meta-place"] == "endpoint")
    #expect(preserved["x-amz-meta-mtime"] == "1700000000.5" && preserved["x-amz-meta-mode"] == "100640")
    #expect(preserved["x-amz-tagging"] == "a=endpoint&b=source&c=so%20%26%20on")
    #expect(preserved["Cache-Control"] == "no-store" && preserved["x-amz-storage-class"] == "STANDARD_IA")
    #expect(preserved["Content-Disposition"] == "inline" && preserved["Content-Encoding"] == "gzip")
    source.given.metadata = ["owner": "transfer", "mtime": "7"]
    source.given.tags = ["c": "transfer"]
    source.given.storageClass = "ONEZONE_IA"
    let given = try headers(source)
    #expect(given["x-amz-meta-owner"] == "transfer" && given["x-amz-meta-mtime"] == "7")
    #expect(given["x-amz-tagging"] == "a=endpoint&b=source&c=transfer")
    #expect(given["x-amz-storage-class"] == "ONEZONE_IA")
    #expect(given.fields.count { $0.name.lowercased() == "x-amz-meta-owner" } == 1)
  }

  /// The source's storage class, and tags that nobody demands, are left out where the store refuses them.
  @Test func whatAStoreRefuses() throws {
    let upload = try Self.upload()
    let url = try #require(WebURL("http://h/bkt/k"))
    func reduced(_ source: UploadSource, _ status: Int, _ code: String) -> UploadSource? {
      let body = Array("<Error><Code>\(code)</Code></Error>".utf8)
      return upload.reduced(source, after: Response(head: ResponseHead(status: status), body: body, url: url))
    }
    var source = UploadSource(size: 5, contentType: "text/x", chunkSize: 5)
    #expect(reduced(source, 501, "NotImplemented") == nil)
    source.preserved.tags = ["a": "b"]
    source.preserved.storageClass = "STANDARD_IA"
    #expect(reduced(source, 501, "NotImplemented")?.preserved.tags == nil)
    #expect(reduced(source, 403, "AccessDenied")?.preserved.storageClass == "STANDARD_IA")
    #expect(reduced(source, 400, "InvalidStorageClass")?.preserved.tags == ["a": "b"])
    #expect(reduced(source, 400, "InvalidStorageClass")?.preserved.storageClass == nil)
    #expect(reduced(source, 503, "SlowDown") == nil)
    source.demanded = [.tags]
    #expect(reduced(source, 501, "NotImplemented") == nil)
    source.given.storageClass = "GLACIER"
    #expect(reduced(source, 400, "InvalidStorageClass") == nil)
  }
}
