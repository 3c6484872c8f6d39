import JobModel

/// A notice as the manifest has it, as the ledger keeps it.
enum NoticeTemplateJSON {
  static func write(_ notice: NoticeTemplate) -> JSON {
    var members: [JSON.Member] = [
      .init("event", .string(notice.event.rawValue)), .init("index", .int(notice.index)),
    ]
    switch notice.action {
    case .command(let words): members.append(.init("command", .array(words.map(text))))
    case .ping(let url): members.append(.init("ping", address(url)))
    case .webhook(let url, let json, let headers, let sign):
      members += [
        .init("webhook", address(url)), .init("json", json.map(body) ?? .null),
        .init("headers", .array(headers.map(header))), .init("sign", sign.map(PolicyJSON.reference) ?? .null),
      ]
    }
    return .object(members)
  }

  /// Nil where it can't be read: it is not told rather than told otherwise.
  static func read(_ json: JSON) -> NoticeTemplate? {
    guard let event = json["event"].string.flatMap(NoticeEvent.init(rawValue:)),
      let index = json["index"].int64, let action = action(json)
    else { return nil }
    return NoticeTemplate(event, index: Int(index), action)
  }

  private static func action(_ json: JSON) -> NoticeTemplate.Action? {
    if let words = json["command"].array {
      return all(words, readText).map { .command($0) }
    }
    if json["ping"] != .null { return readAddress(json["ping"]).map { .ping($0) } }
    guard let url = readAddress(json["webhook"]), let headers = all(json["headers"].array ?? [], readHeader)
    else { return nil }
    let (body, sign) = (readBody(json["json"]), readSecret(json["sign"]))
    guard json["json"] == .null || body != nil, json["sign"] == .null || sign != nil else { return nil }
    return .webhook(url: url, json: body, headers: headers, sign: sign)
  }

  private static func all<Value>(_ items: [JSON], _ read: (JSON) -> Value?) -> [Value]? {
    let values = items.compactMap(read)
    return values.count == items.count ? values : nil
  }

  // MARK: Texts

  private static func text(_ text: InterpolatedText) -> JSON {
    .array(
      text.parts.map { part -> JSON in
        switch part {
        case .literal(let literal): ["text": .string(literal)]
        case .reference(let reference): ["value": .string(source(reference))]
        }
      })
  }

  /// As a manifest writes it.
  private static func source(_ reference: InterpolatedText.Reference) -> String {
    let filters = reference.filters.map { filter -> String in
      switch filter {
      case .url: "|url"
      case .basename: "|basename"
      case .fallback(let text): "|default(\(text))"
      }
    }
    return "${" + reference.name.text + filters.joined() + "}"
  }

  private static func readText(_ json: JSON) -> InterpolatedText? {
    guard let items = json.array else { return nil }
    let parts = all(items) { item -> InterpolatedText.Part? in
      if let literal = item["text"].string { return .literal(literal) }
      let text = item["value"].string.flatMap { try? InterpolationParser.parse($0) }
      return text?.parts.first
    }
    return parts.map { InterpolatedText(parts: $0) }
  }

  private static func address(_ address: NoticeTemplate.Address) -> JSON {
    switch address {
    case .text(let text): ["text": Self.text(text)]
    case .secret(let secret): ["secret": PolicyJSON.reference(secret)]
    }
  }

  private static func readAddress(_ json: JSON) -> NoticeTemplate.Address? {
    if let text = readText(json["text"]) { return .text(text) }
    return readSecret(json["secret"]).map { .secret($0) }
  }

  private static func readSecret(_ json: JSON) -> SecretReference? {
    json.members == nil ? nil : PolicyJSON.readReference(JSONText(json.text))
  }

  // MARK: Webhooks

  private static func header(_ header: HeaderTemplate) -> JSON {
    switch header.value {
    case .text(let text): ["name": .string(header.name), "text": Self.text(text.text)]
    case .secret(let secret): ["name": .string(header.name), "secret": PolicyJSON.reference(secret)]
    }
  }

  private static func readHeader(_ json: JSON) -> HeaderTemplate? {
    guard let name = json["name"].string else { return nil }
    if let text = readText(json["text"]) {
      let mark = SourceMark(file: "", line: 0, column: 0)
      return HeaderTemplate(name: name, value: .text(MarkedText(text: text, mark: mark, lineText: "")))
    }
    return readSecret(json["secret"]).map { HeaderTemplate(name: name, value: .secret($0)) }
  }

  private static func body(_ body: NoticeTemplate.Body) -> JSON {
    switch body {
    case .value(let json): ["value": json]
    case .text(let text): ["text": Self.text(text)]
    case .list(let items): ["list": .array(items.map(Self.body))]
    case .mapping(let members):
      [
        "mapping": .array(
          members.map { member -> JSON in
            ["name": .string(member.name), "value": Self.body(member.value)]
          })
      ]
    }
  }

  private static func readBody(_ json: JSON) -> NoticeTemplate.Body? {
    guard let member = json.members?.first else { return nil }
    switch member.name {
    case "value": return .value(member.value)
    case "text": return readText(member.value).map { .text($0) }
    case "list": return member.value.array.flatMap { all($0, readBody) }.map { .list($0) }
    case "mapping":
      let members = member.value.array.flatMap { items in
        all(items) { item -> NoticeTemplate.Member? in
          guard let name = item["name"].string, let value = readBody(item["value"]) else { return nil }
          return NoticeTemplate.Member(name, value)
        }
      }
      return members.map { .mapping($0) }
    default: return nil
    }
  }
}
