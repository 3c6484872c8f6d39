package import JobModel

/// Downloads from a WebDAV server: as from any web server, and by the checksum that ownCloud adds.
package struct WebDAVDownload: DownloadProtocol {
  private let plain: HTTPDownload

  package init(url: WebURL) { plain = HTTPDownload(url: url) }

  package var url: WebURL { plain.url }
  package func probe() -> Request { plain.probe() }

  package func question(after response: Response, to request: Request) -> Request? {
    plain.question(after: response, to: request)
  }

  package func probed(_ response: Response, now: Double) -> Result<RemoteObject, Failure> {
    plain.probed(response, now: now).map { OwnCloudChecksum.add(response.head, to: $0) }
  }

  package func get(_ range: Range<Int64>?, of object: RemoteObject) -> Request {
    plain.get(range, of: object)
  }

  package func facts(_ head: ResponseHead, now: Double) -> RemoteObject {
    OwnCloudChecksum.add(head, to: ObjectFacts.read(head, now: now))
  }

  package func refusal(_ response: Response, doing what: String, now: Double) -> Failure {
    WebDAVError.of(response, doing: what, now: now)
  }
}
