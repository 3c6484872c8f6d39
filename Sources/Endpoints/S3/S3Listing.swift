package import JobModel

/// Lists a bucket's keys below a prefix, a thousand at a time
/// (docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html).
package struct S3Listing: ListingProtocol {
  private let root: WebURL
  private let settings: S3Settings

  package init(address: S3Address, settings: S3Settings) {
    root = address.root
    self.settings = settings
  }

  package var followsRedirects: Bool { false }

  package func list(_ prefix: String, page: String?) -> Request {
    request(prefix, page.map { ("continuation-token", $0) })
  }

  package func list(_ prefix: String, after name: String) -> Request? {
    request(prefix, name.isEmpty ? nil : ("start-after", name))
  }

  package func listFolders(_ prefix: String) -> Request? { request(prefix, nil, delimiter: "delimiter=%2F&") }

  private func request(
    _ prefix: String, _ start: (name: String, value: String)?, delimiter: String = ""
  ) -> Request {
    var url = root
    // Keys may hold what XML can't: they come percent-encoded.
    var query = delimiter + "encoding-type=url&list-type=2&max-keys=1000"
    query += "&prefix=" + WebURL.encode(prefix, keepingSlash: false)
    if let start { query += "&\(start.name)=" + WebURL.encode(start.value, keepingSlash: false) }
    url.query = query
    return Request("GET", url, headers: ["x-amz-content-sha256": S3Payload.empty])
  }

  package func listed(
    _ response: Response, prefix: String, page: String?, now: Double
  ) -> Result<ListedPage, Failure> {
    // Read once: a page has hundreds of kilobytes.
    let document = response.status == 200 ? XMLTree.read(response.body) : nil
    guard response.status == 200, document?.name != "Error" else {
      return .failure(refusal(response, doing: "list `\(prefix)`", now: now))
    }
    guard let root = document, S3List.isOne(root, of: "Contents"), page == nil || S3List.isPage(root) else {
      let what = "\(response.body.count) bytes of \(response.headers["Content-Type"] ?? "no type")"
      return .failure(
        Failure(
          .protocolViolation, "\(response.url) did not answer with a listing, but with \(what)",
          httpStatus: response.status))
    }
    let isEncoded = root["EncodingType"] == "url"
    func below(_ name: String?) -> String? {
      guard let name else { return nil }
      let key = isEncoded ? WebURL.decode(name.replacing("+", with: " ")) : name
      // By bytes: as text, a prefix may end within what counts as one character.
      guard key.utf8.starts(with: prefix.utf8) else { return nil }
      return String(decoding: key.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
    }
    var page = ListedPage(entries: [])
    page.folders = root.all("CommonPrefixes").compactMap { below($0.exact("Prefix")) }.filter { !$0.isEmpty }
    for item in root.all("Contents") {
      guard let below = below(item.exact("Key")) else { continue }
      page.entries.append(
        ListedPage.Entry(
          path: below, size: item["Size"].flatMap { ByteCount.read($0) },
          etag: item["ETag"].flatMap(S3ETag.quoted),
          modified: item["LastModified"].flatMap(Timestamp.seconds)))
    }
    if S3List.isCut(root) {
      guard let next = root["NextContinuationToken"], !next.isEmpty else {
        return .failure(
          Failure(.protocolViolation, "\(response.url) cut its listing and gave no mark to go on from"))
      }
      page.next = next
    }
    return .success(page)
  }

  package func refuses(_ response: Response) -> Bool {
    response.status >= 300 || S3Error.error(in: response) != nil
  }

  package func refusal(_ response: Response, doing what: String, now: Double) -> Failure {
    S3Error.of(response, doing: what, settings: settings, now: now)
  }
}
