package import JobModel

/// Problem details of a refusal (RFC 9457), as the chunk-session API sends them.
package struct ProblemDetails {
  /// The API's own word, for instance `CHUNK_CONFLICT`.
  package var code: String?
  package var summary: String
  /// Other members, for the protocol that knows them.
  package var members: JSON

  /// nil where the body is no JSON object.
  package init?(_ response: Response) {
    guard response.body.first == UInt8(ascii: "{"), let object = response.object else { return nil }
    members = object
    code = object["code"].string
    let text = object["detail"].string ?? object["title"].string ?? object["message"].string
    summary = [code, text].compactMap { $0 }.joined(separator: ": ")
    summary = summary.truncated(to: 300)
  }
}
