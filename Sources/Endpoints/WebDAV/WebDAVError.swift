import JobModel

/// What WebDAV's refusals mean (RFC 4918, 11 and 13).
enum WebDAVError {
  /// - Parameter resource: what a multi-status refuses; nil for the first one.
  static func of(
    _ response: Response, as resource: MultiStatus.Resource? = nil, doing what: String, now: Double
  ) -> Failure {
    let refused = response.status == 207 ? resource ?? MultiStatus(response)?.refused : nil
    let status = refused?.status ?? response.status
    let url = refused.flatMap { response.url.resolving($0.href) } ?? response.url
    var head = response.head
    head.status = status
    let response = Response(head: head, body: response.body, url: url)
    var failure = HTTPFailure.of(response, doing: what, now: now)
    if let text = text(response) { failure.message += ": \(text)" }
    switch status {
    case 423:
      // The lock of another client ends with that client.
      failure.code = .serverError
      failure.message += " – another client has locked it"
    case 507:
      failure.code = .diskFull
      failure.message += " – the server has no room left: make room there, or have the quota raised"
    case 502 where what == WebDAVUpload.ending:
      failure.message += " – a proxy may hide the server's own URL: write that as the endpoint's `url`"
    default: break
    }
    return failure
  }

  /// The `<s:message>` of sabre/dav, which Nextcloud and ownCloud are built on.
  private static func text(_ response: Response) -> String? {
    guard response.body.first == UInt8(ascii: "<"), let root = XMLTree.read(response.body),
      root.name == "error",
      let text = root["message"], !text.isEmpty
    else { return nil }
    return text.truncated(to: 300)
  }
}
