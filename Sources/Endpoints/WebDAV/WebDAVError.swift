import JobModel

/// What WebDAV's refusals mean (RFC 4918, 11 and 13).
enum WebDAVError {
  static func of(_ response: Response, doing what: String, now: Double) -> Failure {
    // A 207 is refused for what it says of a resource.
    let status = response.status == 207 ? MultiStatus(response)?.refusal ?? 207 : response.status
    var head = response.head
    head.status = status
    let response = Response(head: head, body: response.body, url: response.url)
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
    return String(text.prefix(300))
  }
}
