internal import JobModel
internal import ManifestFields
internal import YAML

/// `network` of a policy.
enum NetworkRule {
  private static let keys = ["metered", "interface", "hosts", "addresses", "ip", "proxy"]

  static func read(_ parent: Fields, into policy: inout Policy) {
    guard let fields = parent.fields("network", .policyPart("network", keys)) else { return }
    policy.metered = fields.choice("metered")
    policy.interface = fields.value("interface", interface)
    policy.ip = fields.choice("ip")
    policy.proxy = fields.node("proxy")?.mapping == nil ? fields.value("proxy", proxy) : login(fields)
    if let hosts = fields.fields("hosts", .policyPart("network.hosts", ["allow", "deny"])) {
      policy.allowedHosts = hosts.list("allow", host)
      policy.deniedHosts = hosts.list("deny", host)
    }
    if let addresses = fields.fields("addresses", .policyPart("network.addresses", ["deny"])) {
      policy.deniedAddresses = addresses.list("deny", AddressRange.check)
    }
  }

  /// Linux: at most 15 bytes, no `/` and no blanks.
  private static func interface(_ text: String) throws(ValueFault) -> String {
    guard (1...15).contains(text.utf8.count), !text.contains("/"), !text.contains(where: \.isWhitespace)
    else {
      throw ValueFault("`\(text)` is not the name of an interface", hint: "like `eth0`")
    }
    return text
  }

  private static func host(_ text: String) throws(ValueFault) -> String {
    let isHost = text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-._*:[]".contains($0)) }
    guard !text.isEmpty, isHost else {
      throw ValueFault(
        "`\(text)` is not a host or a pattern of hosts",
        hint: "like `*.example.net`, without a scheme or a path")
    }
    return text.lowercased()
  }

  private static func login(_ parent: Fields) -> ProxySetting? {
    guard let fields = parent.fields("proxy", .policyPart("network.proxy", ["url", "user", "password"]))
    else {
      return nil
    }
    fields.require("url", "user", "password")
    let address = fields.value("url", proxy)
    let user = fields.value("user", allowed: []) { text throws(ValueFault) in
      guard !text.contains(":") else { throw ValueFault("a user's name has no `:` (RFC 7617)") }
      return text
    }
    let password = SecretRule.read("password", in: fields)
    guard let address, let user, let password else { return nil }
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
