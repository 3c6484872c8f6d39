internal import JobModel
internal import ManifestFields
internal import YAML

/// `on`: for each event of a run, a list of commands, webhooks and pings.
struct NoticeRule {
  private static let events = KeyShape(name: "`on`", keys: NoticeEvent.allCases.map(\.rawValue))
  private static let notice = KeyShape(name: "a notice", keys: ["command", "webhook", "ping"])
  private static let webhook = KeyShape(name: "`webhook`", keys: ["url", "json", "headers", "sign"])
  private static let values: Scope.Allowed = [.environment, .run, .notice]

  private let fields: Fields
  private var scope: Scope { fields.scope }

  static func readAll(_ top: Fields) -> [NoticeTemplate] {
    guard let fields = top.fields("on", events) else { return [] }
    return NoticeEvent.allCases.flatMap { event in
      (fields.items(event.rawValue) ?? []).enumerated().compactMap { index, item in
        let path = "\(fields.path(event.rawValue))[\(index + 1)]"
        return Fields(item, shape: notice, path: path, scope: top.scope)
          .flatMap { NoticeRule(fields: $0).action() }
          .map { NoticeTemplate(event, index: index + 1, $0) }
      }
    }
  }

  private func action() -> NoticeTemplate.Action? {
    let forms = Self.notice.keys.filter(fields.has)
    guard forms.count == 1 else {
      scope.faults.error("a notice has exactly one of `command`, `webhook` and `ping`", at: fields.mark)
      return nil
    }
    switch forms[0] {
    case "command":
      return fields.command(allowed: Self.values, hint: "command: [mail, -s, done, me]").map { .command($0) }
    case "ping": return address("ping", in: fields).map { .ping($0) }
    default: return hook()
    }
  }

  private func hook() -> NoticeTemplate.Action? {
    guard let hook = fields.fields("webhook", Self.webhook) else { return nil }
    hook.require("url", hint: "url: https://hooks.example.net/haul")
    let url = address("url", in: hook)
    let headers = HeaderRule.read(hook, allowed: [.run, .notice]).map { $0.map(\.text) }
    let sign = SecretRule.read("sign", in: hook)
    let body = hook.node("json").flatMap { JSONTemplateRule(scope: scope, allowed: Self.values).read($0) }
    guard let url, !hook.has("json") || body != nil, !hook.has("sign") || sign != nil else { return nil }
    return .webhook(url: url, json: body, headers: headers, sign: sign)
  }

  /// A URL, or a secret that is one.
  private func address(_ key: String, in fields: Fields) -> NoticeTemplate.Address? {
    if fields.node(key)?.mapping != nil { return SecretRule.read(key, in: fields).map { .secret($0) } }
    guard let marked = fields.marked(key, allowed: Self.values) else { return nil }
    do throws(ValueFault) {
      if let literal = marked.text.literal { _ = try URLRule.absolute(literal) }
    } catch {
      scope.faults.error(error, at: marked.mark)
      return nil
    }
    return .text(marked.text)
  }
}
