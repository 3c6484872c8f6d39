/// An attach request with everything put in but its secrets: what is sent, as often as it takes, under one key.
package struct AttachRequest: Sendable, Hashable {
  package var method: AttachTemplate.Method
  /// Whose path the target is; nil where the target is a URL.
  package var endpoint: String?
  package var target: String
  package var body: String?
  package var headers: [HeaderSetting]

  package init(
    _ method: AttachTemplate.Method, endpoint: String?, target: String, body: String? = nil,
    headers: [HeaderSetting] = []
  ) {
    self.method = method
    self.endpoint = endpoint
    self.target = target
    self.body = body
    self.headers = headers
  }

  /// The target; of a signed URL without the query, which is another one tomorrow.
  package var address: String { endpoint == nil && isSigned ? AttachTemplate.withoutQuery(target) : target }

  private var isSigned: Bool {
    // By scalars: a `?` and a combining mark behind it are one character.
    target.unicodeScalars.drop { $0 != "?" }.dropFirst().split(separator: "&").contains { parameter in
      SigningParameters.names.contains(String(parameter.prefix { $0 != "=" }).lowercased())
    }
  }

  /// The request as one text, to tell it from another: where a header's secret comes from is no part of it, nor is the query
  /// of a signed URL, which is new each day.
  package var description: String {
    let headers = headers.map { "\($0.name.lowercased()):" + ($0.text.map { " " + $0 } ?? "") }
    return JSON.array(
      [
        .string(method.rawValue), .text(endpoint), .string(address), .text(body),
        .array(headers.map { .string($0) }),
      ]
    ).text
  }
}

extension AttachTemplate {
  /// The request for one file.
  ///
  /// - Parameter run: nil leaves the run's values as they are written: the same request in every run.
  /// - Throws: why what a server said of the file can't be sent.
  package func request(_ values: AttachValues, run: RunValues?) throws(ValueFault) -> AttachRequest {
    // A path on an endpoint is encoded as a whole, later; in a URL each value stands for itself alone.
    let isURL = endpoint == nil
    let encode: (String) -> String = { isURL ? Self.encoded($0) : $0 }
    // Without it the address might be that of a collection, or of another record.
    if let name = values.emptyFact(in: target) {
      throw ValueFault(
        "`${\(name)}` in its address is empty, as the server did not tell it; `|default(x)` says what stands there instead"
      )
    }
    let address = values.text(target, run: run, encode: encode)
    guard !saysFile(target) || !climbs(address) else {
      throw ValueFault("the address `\(Self.withoutQuery(address))` has `.` or `..` as a part of its path")
    }
    let own = headers.map { $0.map { values.text($0, run: run) } }
    for header in own where !HeaderSetting.isSafe(value: header.text ?? "") {
      throw ValueFault("the header `\(header.name)` would have a line end or a control character")
    }
    return AttachRequest(
      method, endpoint: endpoint, target: address,
      body: body?.filled { values.text($0, run: run) }.text, headers: own)
  }

  private func saysFile(_ text: InterpolatedText) -> Bool {
    text.references.contains { reference in
      switch reference.name {
      case .file, .id: true
      case .variable, .environment, .column, .runID, .runDate, .uuid, .source, .fact: false
      }
    }
  }

  /// A part of the path leads elsewhere: what a server calls a file, or a row says, may be chosen to.
  package func climbs(_ address: String) -> Bool {
    // On an endpoint all of it is path.
    let path = address.utf8.prefix { endpoint != nil || !"?#".utf8.contains($0) }
    return path.split(separator: UInt8(ascii: "/")).contains { segment in
      var plain = String(decoding: segment, as: UTF8.self)
      if endpoint == nil { plain = plain.replacing("%2e", with: ".").replacing("%2E", with: ".") }
      return plain == "." || plain == ".."
    }
  }

  private static func encoded(_ value: String) -> String {
    PercentEncoding.encode(value) { PercentEncoding.isAlphanumeric($0) || "-._~".utf8.contains($0) }
  }
}
