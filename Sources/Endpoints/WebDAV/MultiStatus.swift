import JobModel

/// A 207 answer: what it says of each resource (RFC 4918, 13 and 14).
struct MultiStatus {
  /// One resource, by its live properties (RFC 4918, 15).
  struct Resource: Sendable, Hashable {
    var href = ""
    /// Of the resource itself; nil where its properties have one each.
    var status: Int?
    /// nil where its type is not told.
    var isFolder: Bool?
    /// Bytes.
    var size: Int64?
    var etag: String?
    var type: String?
    /// As an HTTP date.
    var modified: String?
    var digests: [DigestAlgorithm: String] = [:]

    var isRefused: Bool { (status ?? 200) >= 300 }
  }

  private(set) var resources: [Resource]
  /// What hrefs are relative to.
  private let base: WebURL
  /// Elements of a document: some 150,000 names.
  private static let most = 2_000_000
  /// Bytes of an href: longer ones are no paths.
  private static let longestHref = 16 << 10

  /// Nil where the body is not a multi-status document.
  init?(_ response: Response) {
    let reader = Reader()
    guard XMLReader.read(response.body[...], most: Self.most, into: reader), reader.isMultiStatus,
      !reader.isStrange
    else { return nil }
    (resources, base) = (reader.resources, response.url)
  }

  /// What is said of the resource that was asked for; nil where all is of others. Servers write hrefs as URLs or paths, each
  /// encoded in its own way, and proxies change how they begin.
  ///
  /// - Parameter depth: how many names of the URL lie below the endpoint's: they must be the same.
  func resource(at asked: WebURL, depth: Int) -> Resource? {
    let wanted = Self.names(asked, depth)
    return resources.first { resource in
      base.resolving(resource.href).map { Self.names($0, depth) == wanted } ?? false
    }
  }

  /// The last names of a path, decoded.
  private static func names(_ url: WebURL, _ count: Int) -> [String] {
    url.path.utf8.split(separator: UInt8(ascii: "/")).suffix(count).map { WebURL.decode(Substring($0)) }
  }

  /// The first resource in it that is refused.
  var refused: Resource? { resources.first(where: \.isRefused) }

  /// Asks for the properties of a resource, or of what lies directly in a folder too (RFC 4918, 9.1).
  static func ask(_ url: WebURL, depth: Int) -> Request {
    Request(
      "PROPFIND", url, headers: ["Depth": String(depth), "Content-Type": "application/xml; charset=utf-8"],
      body: .bytes(Array(question.utf8)))
  }

  private static let question = """
    <?xml version="1.0" encoding="utf-8"?>\
    <D:propfind xmlns:D="DAV:" xmlns:o="http://owncloud.org/ns"><D:prop><D:resourcetype/><D:getcontentlength/>\
    <D:getetag/><D:getcontenttype/><D:getlastmodified/><o:checksums/></D:prop></D:propfind>
    """

  /// Keeps what is asked for, and nothing of the tree: a folder may have many names.
  private final class Reader: XMLReceiver {
    private(set) var resources: [Resource] = []
    private(set) var isMultiStatus = false
    /// Has a resource without a name, or with one that can't be a path.
    private(set) var isStrange = false
    private var path: [String] = []
    private var text: [UInt8] = []
    private var resource = Resource()
    /// What the current `propstat` says, which counts where its status is a good one.
    private var properties = Resource()
    private var status: Int?
    /// A response names one resource, or several that have one status (RFC 4918, 14.24).
    private var hrefs: [String] = []
    /// Of the `propstat` that does not tell the type, where that is refused rather than missing.
    private var refusal: Int?

    func begin(_ name: String) {
      if path.isEmpty { isMultiStatus = name == "multistatus" }
      path.append(name)
      text.removeAll(keepingCapacity: true)
      switch name {
      case "response" where path.count == 2: (resource, hrefs, refusal) = (Resource(), [], nil)
      case "propstat" where path.count == 3: (properties, status) = (Resource(), nil)
      default: break
      }
    }

    func add(_ more: UnsafeRawBufferPointer) { text += more }

    func end() {
      guard let name = path.popLast() else { return }
      switch (path.last, name) {
      case ("multistatus", "response"):
        isStrange =
          isStrange || hrefs.isEmpty
          || hrefs.contains { $0.isEmpty || $0.utf8.count > MultiStatus.longestHref }
        if resource.isFolder == nil { resource.status = resource.status ?? refusal }
        if !isStrange { resources += hrefs.map(named) }
      case ("response", "href"): hrefs.append(words)
      case ("response", "status"): resource.status = code
      case ("response", "propstat"):
        if (200..<300).contains(status ?? 200) {
          take()
        } else if properties.isFolder != nil, ![404, 410].contains(status) {
          refusal = status
        }
      case ("propstat", "status"): status = code
      case ("resourcetype", "collection"): properties.isFolder = true
      case ("prop", "resourcetype"): properties.isFolder = properties.isFolder ?? false
      case ("prop", "getcontentlength"): properties.size = ByteCount.read(words)
      case ("prop", "getetag"): properties.etag = words.isEmpty ? nil : words
      case ("prop", "getcontenttype"): properties.type = words.isEmpty ? nil : words
      case ("prop", "getlastmodified"): properties.modified = words.isEmpty ? nil : words
      case ("checksums", "checksum"):
        properties.digests.merge(OwnCloudChecksum.read(words)) { first, _ in first }
      default: break
      }
      text.removeAll(keepingCapacity: true)
    }

    private func take() {
      resource.isFolder = properties.isFolder ?? resource.isFolder
      resource.size = properties.size ?? resource.size
      resource.etag = properties.etag ?? resource.etag
      resource.type = properties.type ?? resource.type
      resource.modified = properties.modified ?? resource.modified
      resource.digests.merge(properties.digests) { first, _ in first }
    }

    private func named(_ href: String) -> Resource {
      var named = resource
      named.href = href
      return named
    }

    private var words: String { String(decoding: text, as: UTF8.self).trimmed(\.isWhitespace) }

    /// `HTTP/1.1 200 OK`.
    private var code: Int? { words.split(separator: " ").dropFirst().first.flatMap { Int($0) } }
  }
}
