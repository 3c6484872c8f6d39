import JobModel

/// Attach requests as the ledger keeps them: secrets are references.
enum AttachJSON {
  // MARK: What the manifest says

  static func write(_ template: AttachTemplate) -> JSON {
    [
      "method": .string(template.method.rawValue), "endpoint": .text(template.endpoint),
      "target": TemplateJSON.write(template.target), "body": template.body.map(TemplateJSON.write) ?? .null,
      "headers": .array(template.headers.map(TemplateJSON.write)),
      "statuses": .array(template.statuses.map { .int($0) }),
      "policy": template.policy.map { PolicyJSON.write($0) } ?? .null,
    ]
  }

  static func read(_ json: JSONText) -> AttachTemplate? {
    guard let method = json.string("method").flatMap(AttachTemplate.Method.init(rawValue:)),
      let target = TemplateJSON.readText(json.value("target"))
    else { return nil }
    return AttachTemplate(
      method, endpoint: json.string("endpoint"), target: target,
      body: json.object("body") == nil ? nil : TemplateJSON.readBody(json.value("body")),
      headers: (json.value("headers").array ?? []).compactMap(TemplateJSON.readHeader),
      statuses: (json.value("statuses").array ?? []).compactMap { $0.int64.map { Int(clamping: $0) } },
      policy: json.object("policy").map(PolicyJSON.read))
  }

  // MARK: What is on record of one transfer

  static func write(_ record: AttachRecord) -> JSON {
    [
      "key": .string(record.key), "identity": .string(record.identity),
      "state": .string(record.state.rawValue), "tries": .int(record.tries), "status": .int(record.status),
      "at": .double(record.at), "request": record.request.map(write) ?? .null,
    ]
  }

  static func readRecord(_ json: JSONText) -> AttachRecord? {
    guard let key = json.string("key"), let identity = json.string("identity"),
      let state = json.string("state").flatMap(AttachRecord.State.init(rawValue:))
    else { return nil }
    var record = AttachRecord(
      key: key, identity: identity, request: json.object("request").flatMap(readRequest))
    record.state = state
    record.tries = json.int("tries") ?? 0
    record.status = json.int("status")
    record.at = json.double("at")
    return record
  }

  private static func write(_ request: AttachRequest) -> JSON {
    [
      "method": .string(request.method.rawValue), "endpoint": .text(request.endpoint),
      "target": .string(request.target), "body": .text(request.body),
      "headers": .array(request.headers.map(PolicyJSON.header)),
    ]
  }

  private static func readRequest(_ json: JSONText) -> AttachRequest? {
    guard let method = json.string("method").flatMap(AttachTemplate.Method.init(rawValue:)),
      let target = json.string("target")
    else { return nil }
    return AttachRequest(
      method, endpoint: json.string("endpoint"), target: target, body: json.string("body"),
      headers: (json.objects("headers") ?? []).compactMap(PolicyJSON.readHeader))
  }
}
