package import JobModel

/// Downloads over the chunk-session API: `/files/{id}/meta` first, then ranges.
package struct SessionDownload: DownloadProtocol {
  package let url: WebURL
  private let id: String?

  /// `path` is a remoteFileId or a served path, literal.
  package init(base: WebURL, path: String) {
    // A last segment named `meta` would read as the metadata of its folder.
    var segments = path.unicodeScalars.split(separator: "/", omittingEmptySubsequences: false).map {
      WebURL.encode(String($0), keepingSlash: false)
    }
    if segments.last == "meta" { segments[segments.count - 1] = "%6Deta" }
    url = base.appending("files/" + segments.joined(separator: "/"))
    id = path.contains("/") ? nil : path
  }

  package var promisedDigests: Set<DigestAlgorithm> { [.sha256] }
  package var promisesRanges: Bool { true }

  package func remoteID(of object: RemoteObject) -> String? { id }

  package func describe(_ known: RemoteObject) -> Request? { probe() }

  package func probe() -> Request {
    var meta = url
    meta.path += "/meta"
    return Request("GET", meta, headers: ["Accept": "application/json"])
  }

  /// Not every back end has metadata: the head of a range tells size and version as well. A refusal that has a code of the API's
  /// is of the file.
  package func question(after response: Response, to request: Request) -> Request? {
    guard [404, 405, 501].contains(response.status), ProblemDetails(response)?.code == nil,
      request.url == probe().url
    else { return nil }
    return RangeRequest.get(url, 0..<1, of: RemoteObject())
  }

  package func probed(_ response: Response, now: Double) -> Result<RemoteObject, Failure> {
    // The file itself was asked for its first byte.
    if response.url == url, (200...299).contains(response.status) || response.status == 416 {
      return .success(ObjectFacts.read(response.head, now: now))
    }
    guard response.status == 200 else {
      return .failure(HTTPFailure.of(response, doing: "read the file's metadata", now: now))
    }
    guard let members = response.object, let size = ByteCount.read(json: members["size"]) else {
      return .failure(
        Failure(
          .protocolViolation, "\(response.url) gave no metadata with a size", httpStatus: response.status))
    }
    var object = RemoteObject()
    object.size = size
    object.etag = members["etag"].string.flatMap { $0.isEmpty ? nil : ETag.quoted($0) }
    object.contentType = members["mimeType"].string
    // A digest that can't be read may be the very one that does not match.
    if let told = members["sha256"].string, !told.isEmpty {
      guard let digest = SessionDigest.sha256(members["sha256"]) else {
        return .failure(
          Failure(
            .protocolViolation,
            "\(response.url) gave \(told.utf8.count) bytes that are no SHA-256 as the file's",
            httpStatus: response.status, expected: "64 hexadecimal digits"))
      }
      object.digests[.sha256] = digest
    }
    return .success(object)
  }

  package func get(_ range: Range<Int64>?, of object: RemoteObject) -> Request {
    RangeRequest.get(url, range, of: object)
  }
}
