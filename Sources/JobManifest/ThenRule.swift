internal import Endpoints
internal import JobModel
internal import ManifestFields
internal import YAML

/// `then`: the request that ties a proved file to the record that it belongs to.
struct ThenRule {
  private static let methods = AttachTemplate.Method.allCases.map(\.rawValue)
  static let shape = KeyShape(name: "`then`", keys: methods + ["json", "headers", "expect_status"])
  private static let values: Scope.Allowed = [.environment, .run, .row, .uuid, .file]
  /// Lists and mappings in each other: what the plan keeps of them is nested twice as deep.
  private static let deepest = 16
  /// Haul's own, besides those that any request has.
  private static let key = "idempotency-key"

  private let fields: Fields
  private var scope: Scope { fields.scope }

  static func read(_ parent: Fields) -> ThenLevel? {
    parent.fields("then", shape).flatMap { ThenRule(fields: $0).level() }
  }

  private func level() -> ThenLevel? {
    let named = AttachTemplate.Method.allCases.filter { fields.has($0.rawValue) }
    guard let method = named.first else {
      scope.faults.error(
        "`then` needs `post`, `put` or `patch`", at: fields.mark,
        hint: "post: NAME:PATH, or an absolute URL")
      return nil
    }
    guard named.count == 1 else {
      let words = named.map { "`\($0.rawValue)`" }.joined(separator: " and ")
      scope.faults.error(
        "`then` makes one request, and has \(words)",
        at: named.compactMap { fields.keyMark($0.rawValue) }.max(),
        hint: "keep one of them")
      return nil
    }
    var texts: [MarkedText] = []
    let body = fields.node("json").flatMap { node in
      JSONTemplateRule(deepest: Self.deepest, scope: scope, allowed: Self.values)
        .read(node) { texts.append($0) }
    }
    let headers = headers(&texts)
    let statuses = statuses()
    // What else is at fault is reported, and the endpoint is still to be looked at.
    guard let target = target(method) else { return nil }
    texts.append(target.text)
    return ThenLevel(
      target: target, texts: texts,
      request: AttachTemplate(
        method, endpoint: nil, target: target.text.text, body: body, headers: headers,
        statuses: statuses ?? []))
  }

  private func headers(_ texts: inout [MarkedText]) -> [ExtraHeader<InterpolatedText>] {
    if let entry = fields.node("headers")?.mapping?.first(where: { $0.key.lowercased() == Self.key }) {
      scope.faults.error("haul sets `\(entry.key)` itself", at: entry.keyMark, hint: "leave it out")
    }
    let headers = HeaderRule.read(fields, allowed: Self.values)
    texts += headers.compactMap(\.text)
    return headers.map { $0.map(\.text) }
  }

  private func statuses() -> [Int]? {
    fields.list("expect_status", allowsOne: true) { text throws(ValueFault) in
      guard let status = Units.integer(text), (200...599).contains(status) else {
        throw ValueFault("`\(text)` is not the status of an answer", hint: "like `expect_status: [200, 201]`")
      }
      return Int(status)
    }
  }

  private func target(_ method: AttachTemplate.Method) -> PlaceTemplate? {
    let key = method.rawValue
    guard var text = fields.marked(key, allowed: Self.values) else { return nil }
    guard !text.text.parts.isEmpty else {
      fields.error("`\(key)` is empty", at: key, hint: "\(key): NAME:PATH, or an absolute URL")
      return nil
    }
    let kind = PlaceTemplate.kind(of: text.text.literalPrefix, isWhole: text.text.literal != nil)
    switch kind {
    case .local:
      scope.faults.error(
        "`\(key)` goes to a remote, and this is a local path", at: text.mark,
        hint: "write NAME:PATH of a declared endpoint, or an absolute URL")
      return nil
    case .undecided:
      guard !namesFile(text.text.parts.prefix(1)) else { return misplaced(text) }
    case .remote(let name): text.text = text.text.dropping(prefix: "\(name):")
    case .url:
      do throws(ValueFault) {
        if let literal = text.text.literal { _ = try URLRule.absolute(literal) }
      } catch {
        scope.faults.error(error, at: text.mark)
        return nil
      }
      guard !namesFile(authority(text.text)) else { return misplaced(text) }
    }
    return PlaceTemplate(kind: kind, text: text)
  }

  /// Whom the request goes to is the manifest's to say: never a server's.
  private func misplaced(_ text: MarkedText) -> PlaceTemplate? {
    scope.faults.error(
      "what a server says of the file can't say where the request goes", at: text.mark,
      hint: "write the endpoint, or the URL's host, and the file's values behind it")
    return nil
  }

  /// The parts of a URL that its host may be in.
  private func authority(_ text: InterpolatedText) -> ArraySlice<InterpolatedText.Part> {
    let skipped = URLRule.schemeLength(text.literalPrefix) ?? 0
    for (index, part) in text.parts.enumerated() {
      guard case .literal(let literal) = part else { continue }
      if literal.utf8.dropFirst(index == 0 ? skipped : 0).contains(where: { "/?#".utf8.contains($0) }) {
        return text.parts[...index]
      }
    }
    return text.parts[...]
  }

  private func namesFile(_ parts: some Sequence<InterpolatedText.Part>) -> Bool {
    parts.contains { part in
      guard case .reference(let reference) = part else { return false }
      return switch reference.name {
      case .file, .id: true
      case .variable, .environment, .column, .runID, .runDate, .uuid, .source, .fact: false
      }
    }
  }
}

/// What a transfer, or `defaults`, says under `then`.
struct ThenLevel {
  let target: PlaceTemplate
  /// All of it that may say something, each with its place.
  let texts: [MarkedText]
  /// Without its endpoint and policy.
  let request: AttachTemplate

  /// The endpoint is declared, and can be asked so.
  func check(_ places: PlaceRule) {
    guard case .remote(let name) = target.kind else { return }
    let mark = target.text.mark
    guard places.endpoints.isDeclared(name) else {
      return places.undeclared(name, text: "\(name):\(target.text.text.literalPrefix)", at: mark)
    }
    guard let endpoint = places.endpoints.named[name], URLRule.schemeLength(endpoint.url) == nil else {
      return
    }
    places.scope.faults.error(
      "`then` speaks HTTP, and the endpoint `\(name)` does not", at: mark,
      hint: "name an endpoint whose `url` is http or https")
  }

  /// The request under each policy that it may stand under, by the endpoint that it goes to; "" is a URL's.
  func entry(_ settings: SettingsRule, _ direction: Verb) -> AttachEntry {
    let templates = settings.byEndpoint(direction, remote: target).map { name, settings in
      var template = request
      template.endpoint = name.isEmpty ? nil : name
      template.policy = settings.policy
      return (name, template)
    }
    return AttachEntry(target: target, texts: texts, templates: Dictionary(uniqueKeysWithValues: templates))
  }
}
