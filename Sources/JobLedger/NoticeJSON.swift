import JobModel

/// What a notice sends, and the policy it is sent under, as the ledger keeps them: secrets are references.
enum NoticeJSON {
  static func write(_ notice: OwedNotice) -> JSON {
    let message: JSON =
      switch notice.message {
      case .command(let words, let variables, let folder):
        [
          "command": .array(words.map { .string($0) }), "variables": .dictionary(variables),
          "folder": .string(folder),
        ]
      case .webhook(let url, let body, let headers, let sign):
        [
          "webhook": address(url), "body": .string(body),
          "headers": .array(headers.map(PolicyJSON.header)),
          "sign": sign.map(PolicyJSON.reference) ?? .null,
        ]
      case .ping(let url, let path): ["ping": address(url), "path": .string(path)]
      }
    return ["message": message, "policy": notice.policy.map { PolicyJSON.write($0) } ?? .null]
  }

  static func read(_ text: String) -> (message: NoticeMessage, policy: EffectivePolicy?)? {
    let json = JSONText(text)
    guard let message = json.object("message").flatMap(message) else { return nil }
    return (message, json.object("policy").map { PolicyJSON.read($0) })
  }

  private static func message(_ json: JSONText) -> NoticeMessage? {
    if let words = json.strings("command"), let variables = json.dictionary("variables"),
      let folder = json.string("folder")
    {
      return .command(words, variables: variables, folder: folder)
    }
    if let url = json.object("ping").flatMap(readAddress), let path = json.string("path") {
      return .ping(url: url, path: path)
    }
    guard let url = json.object("webhook").flatMap(readAddress), let body = json.string("body") else {
      return nil
    }
    return .webhook(
      url: url, body: body, headers: (json.objects("headers") ?? []).compactMap(PolicyJSON.readHeader),
      sign: json.object("sign").flatMap(PolicyJSON.readReference))
  }

  private static func address(_ address: TextOrSecret) -> JSON {
    switch address {
    case .text(let text): ["text": .string(text)]
    case .secret(let secret): ["secret": PolicyJSON.reference(secret)]
    }
  }

  private static func readAddress(_ json: JSONText) -> TextOrSecret? {
    if let text = json.string("text") { return .text(text) }
    return json.object("secret").flatMap(PolicyJSON.readReference).map { .secret($0) }
  }
}
