internal import JobModel
internal import ManifestFields
internal import YAML

/// `network` of a policy.
enum NetworkRule {
  static let key = KeyTable<Policy>.Key.part(
    "network",
    [
      .choice("metered", \.metered),
      .parsed("interface", \.interface, schema: KeySchema.matching(#"^[^/\s]{1,15}$"#)) {
        text throws(ValueFault) in try interface(text)
      },
      .part(
        "hosts", as: "network.hosts",
        [
          .list("allow", \.allowedHosts, of: hostSchema) { text throws(ValueFault) in try host(text) },
          .list("deny", \.deniedHosts, of: hostSchema) { text throws(ValueFault) in try host(text) },
        ]),
      .part(
        "addresses", as: "network.addresses",
        [
          .list("deny", \.deniedAddresses, of: addressSchema) { text throws(ValueFault) in
            try AddressBlock(text).text
          }
        ]),
      .choice("ip", \.ip),
      .own("proxy", schema: proxySchema) { fields, policy in
        policy.proxy = fields.node("proxy")?.mapping == nil ? fields.value("proxy", proxy) : login(fields)
      },
    ])

  /// A name, or what has a `:`, an IPv6 address; either in brackets too.
  private static let hostSchema = KeySchema.matching(
    #"^\[?([A-Za-z0-9_*-][A-Za-z0-9._*-]*|[0-9A-Fa-f:*]*:[0-9A-Fa-f*]*(\.[0-9]{1,3}){0,3})\]?$"#)
  private static let addressSchema: JSON = [
    "type": "string", "description": "A CIDR, or private, loopback, link-local",
  ]
  private static let proxySchema: JSON = [
    "description": "env, none, a URL, or one with a user and a password",
    "anyOf": .array([["type": "string"], loginKeys.schema]),
  ]

  /// Linux: at most 15 bytes, no `/` and no blanks.
  private static func interface(_ text: String) throws(ValueFault) -> String {
    guard (1...15).contains(text.utf8.count), !text.contains("/"), !text.contains(where: \.isWhitespace)
    else {
      throw ValueFault("`\(text)` is not the name of an interface", hint: "like `eth0`")
    }
    return text
  }

  /// What some host may match: `HostRules` compares names, without ports, and addresses as they are usually written.
  private static func host(_ text: String) throws(ValueFault) -> String {
    guard isHost(text) else {
      throw ValueFault("`\(text)` is not a host or a pattern of hosts", hint: hint(text))
    }
    return text.lowercased()
  }

  private static func isHost(_ text: String) -> Bool {
    let isBracketed = text.hasPrefix("[") && text.hasSuffix("]")
    let name = isBracketed ? String(text.dropFirst().dropLast()) : text
    let isHost = name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-._*:".contains($0)) }
    let hasGap = name.hasPrefix(".") || name.contains("..")
    return !name.isEmpty && isHost && !hasGap && (!name.contains(":") || mayBeIPv6(name))
  }

  /// An IPv6 address, or a pattern of the form that `IPAddress` writes.
  private static func mayBeIPv6(_ text: String) -> Bool {
    guard text.contains("*") else { return IPAddress(text) != nil }
    return text.split(separator: ":").allSatisfy { group in
      let hasLeadingZero = group.hasPrefix("0") && group.dropFirst().first?.isHexDigit == true
      return !hasLeadingZero && group.allSatisfy { $0 == "*" || $0.isHexDigit }
    }
  }

  private static func hint(_ text: String) -> String {
    if text.hasPrefix("."), isHost("*" + text) { return "write `*\(text.lowercased())`" }
    if let colon = text.lastIndex(of: ":"), isHost(String(text[..<colon])),
      text[colon...].dropFirst().allSatisfy({ $0 == "*" || $0.isNumber })
    {
      return "write `\(text[..<colon].lowercased())`: a host is meant with all its ports"
    }
    return "like `*.example.net` or `2001:db8:*`, without a scheme, a port or a path"
  }

  private struct Login {
    var address: ProxySetting?
    var user: String?
    var password: SecretReference?
  }

  private static let loginKeys: KeyTable<Login> = [
    .parsed("url", \.address, isRequired: true, schema: ["type": "string"]) { text throws(ValueFault) in
      try proxy(text)
    },
    .own("user", isRequired: true, schema: KeySchema.text) { fields, login in
      login.user = fields.value("user", allowed: []) { text throws(ValueFault) in
        guard !text.contains(":") else { throw ValueFault("a user's name has no `:` (RFC 7617)") }
        return text
      }
    },
    .secret("password", \.password, isRequired: true),
  ]

  private static func login(_ parent: Fields) -> ProxySetting? {
    let shape = KeyShape(name: "`network.proxy`", keys: loginKeys.names)
    guard let fields = parent.fields("proxy", shape) else { return nil }
    var login = Login()
    loginKeys.read(fields, into: &login)
    guard let address = login.address, let user = login.user, let password = login.password else {
      return nil
    }
    guard case .url(let url) = address else {
      fields.error("a proxy with a user has a URL", at: "url", hint: "like `http://proxy.example.net:3128`")
      return nil
    }
    return .login(url: url, user: user, password: password)
  }

  private static func proxy(_ text: String) throws(ValueFault) -> ProxySetting {
    switch text {
    case "env": return .environment
    case "none": return .none
    default: break
    }
    let schemes = ["http://", "https://", "socks4://", "socks4a://", "socks5://", "socks5h://"]
    let scheme = schemes.first { text.lowercased().hasPrefix($0) }
    guard let scheme, text.utf8.count > scheme.utf8.count else {
      throw ValueFault(
        "`\(text)` is not a proxy", hint: "`env`, `none`, or a URL like `http://proxy.example.net:3128`")
    }
    guard !text.contains("@") else {
      throw ValueFault(
        "the proxy's URL holds a user or a password, and a secret is never written in the manifest",
        hint: "write `proxy: { url: …, user: NAME, password: { env: NAME } }`")
    }
    return .url(text)
  }
}
