/// `then`: the request that ties a proved file to the record that it belongs to, as the manifest writes it.
package struct AttachTemplate: Sendable, Hashable {
  package enum Method: String, Sendable, Hashable, CaseIterable {
    case post, put, patch

    /// As a request has it.
    package var word: String { rawValue.uppercased() }
  }

  package var method: Method
  /// Whose path the target is, and whose credentials go along; nil where the target is a URL.
  package var endpoint: String?
  package var target: InterpolatedText
  /// nil for an empty body.
  package var body: JSONTemplate?
  package var headers: [ExtraHeader<InterpolatedText>]
  /// Statuses of answers that end it well; empty for any 2xx.
  package var statuses: [Int]
  /// What rules the request, in place of the transfer's policy.
  package var policy: EffectivePolicy?

  package init(
    _ method: Method, endpoint: String?, target: InterpolatedText, body: JSONTemplate? = nil,
    headers: [ExtraHeader<InterpolatedText>] = [], statuses: [Int] = [], policy: EffectivePolicy? = nil
  ) {
    self.method = method
    self.endpoint = endpoint
    self.target = target
    self.body = body
    self.headers = headers
    self.statuses = statuses
    self.policy = policy
  }

  package func isExpected(_ status: Int) -> Bool {
    statuses.isEmpty ? (200..<300).contains(status) : statuses.contains(status)
  }

  /// All its texts that may say something.
  package var texts: [InterpolatedText] {
    [target] + (body?.texts ?? []) + headers.compactMap(\.text)
  }

  /// Digests of the file that it says.
  package var digests: Set<DigestAlgorithm> {
    texts.reduce(into: []) { digests, text in
      for case .file(.digest(let algorithm)) in text.references.map(\.name) { digests.insert(algorithm) }
    }
  }

  /// The template with other texts.
  package func map<Fault: Error>(
    _ text: (InterpolatedText) throws(Fault) -> InterpolatedText
  ) throws(Fault) -> AttachTemplate {
    var mapped = self
    mapped.target = try text(target)
    mapped.body = try body?.map(text)
    mapped.headers = try headers.map { header throws(Fault) in try header.map(text) }
    return mapped
  }

  /// Its address as the manifest writes it: `POST api:records/7`. No secret.
  package var written: String {
    let place = endpoint.map { "\($0):" + target.written } ?? Self.withoutQuery(target.written)
    return "\(method.word) \(place)"
  }

  static func withoutQuery(_ url: String) -> String {
    guard let mark = url.utf8.firstIndex(of: UInt8(ascii: "?")) else { return url }
    return String(url[..<mark]) + "?***"
  }
}
