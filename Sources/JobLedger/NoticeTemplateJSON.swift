import JobModel

/// A notice as the manifest has it, as the ledger keeps it.
enum NoticeTemplateJSON {
  static func write(_ notice: NoticeTemplate) -> JSON {
    var members: [JSON.Member] = [
      .init("event", .string(notice.event.rawValue)), .init("index", .int(notice.index)),
    ]
    switch notice.action {
    case .command(let words): members.append(.init("command", .array(words.map { TemplateJSON.write($0) })))
    case .ping(let url): members.append(.init("ping", address(url)))
    case .webhook(let url, let json, let headers, let sign):
      members += [
        .init("webhook", address(url)), .init("json", json.map { TemplateJSON.write($0) } ?? .null),
        .init("headers", .array(headers.map(TemplateJSON.write))),
        .init("sign", sign.map(PolicyJSON.reference) ?? .null),
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
      return all(words, TemplateJSON.readText).map { .command($0) }
    }
    if json["ping"] != .null { return readAddress(json["ping"]).map { .ping($0) } }
    guard let url = readAddress(json["webhook"]),
      let headers = all(json["headers"].array ?? [], TemplateJSON.readHeader)
    else { return nil }
    let (body, sign) = (TemplateJSON.readBody(json["json"]), TemplateJSON.readSecret(json["sign"]))
    guard json["json"] == .null || body != nil, json["sign"] == .null || sign != nil else { return nil }
    return .webhook(url: url, json: body, headers: headers, sign: sign)
  }

  private static func all<Value>(_ items: [JSON], _ read: (JSON) -> Value?) -> [Value]? {
    let values = items.compactMap(read)
    return values.count == items.count ? values : nil
  }

  // MARK: Texts

  private static func address(_ address: NoticeTemplate.Address) -> JSON {
    switch address {
    case .text(let text): ["text": TemplateJSON.write(text)]
    case .secret(let secret): ["secret": PolicyJSON.reference(secret)]
    }
  }

  private static func readAddress(_ json: JSON) -> NoticeTemplate.Address? {
    if let text = TemplateJSON.readText(json["text"]) { return .text(text) }
    return TemplateJSON.readSecret(json["secret"]).map { .secret($0) }
  }
}
