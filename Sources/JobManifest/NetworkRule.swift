internal import JobModel

/// `network` of a policy.
enum NetworkRule {
  private static let keys = ["metered", "interface", "hosts", "addresses", "ip", "proxy"]

  static func read(_ parent: Fields, into policy: inout Policy) {
    guard let fields = parent.fields("network", .policyPart("network", keys)) else { return }
    policy.metered = fields.choice("metered")
    policy.interface = fields.value("interface", interface)
    policy.ip = fields.choice("ip")
    policy.proxy = fields.value("proxy", proxy)
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
        hint: "put it into the environment (HTTPS_PROXY) and write `proxy: env`")
    }
    return .url(text)
  }
}
