/// Whom a policy lets a request go to, by name. Addresses are judged where the connection is made.
package struct HostRules: Sendable, Hashable {
  private let allowed: [String]
  private let denied: [String]

  package init(_ policy: EffectivePolicy) {
    allowed = policy.allowedHosts.map(Self.canonical)
    denied = policy.deniedHosts.map(Self.canonical)
  }

  /// Why a host is refused; nil where it is not.
  package func objection(to host: String) -> String? {
    // What one reader takes for part of a name, the next takes for its end.
    let isPlain = host.unicodeScalars.allSatisfy { !$0.isASCII || Self.plain.contains($0) }
    guard isPlain else { return "the host `\(host)` holds characters that no host has" }
    guard !allowed.isEmpty || !denied.isEmpty else { return nil }
    guard host.utf8.allSatisfy({ $0 < 128 }) else {
      return "the host `\(host)` can't be held against `hosts`: write it in its ASCII form (`xn--…`)"
    }
    let name = Self.canonical(host)
    if let rule = denied.first(where: { Self.matches($0, name) }) {
      return "the host `\(host)` is denied by `hosts.deny: \(rule)`"
    }
    guard allowed.isEmpty || allowed.contains(where: { Self.matches($0, name) }) else {
      return "the host `\(host)` is none of `hosts.allow`"
    }
    return nil
  }

  private static let plain = Set(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~[]:".unicodeScalars)

  /// One spelling for each host: lower case, no last dot, no brackets, addresses as they are usually written.
  private static func canonical(_ host: String) -> String {
    var name = host.lowercased()
    if name.hasPrefix("["), name.hasSuffix("]") { name = String(name.dropFirst().dropLast()) }
    if name.hasSuffix("."), name != "." { name.removeLast() }
    guard let address = IPAddress(looselyWritten: name) else { return name }
    return (address.meanings.last ?? address).description
  }

  /// `*` stands for any text, dots included.
  private static func matches(_ pattern: String, _ name: String) -> Bool {
    let (pattern, name) = (Array(pattern.utf8), Array(name.utf8))
    var (at, mark) = (0, 0)
    var star: Int?
    var position = 0
    while position < name.count {
      if at < pattern.count, pattern[at] == UInt8(ascii: "*") {
        star = at
        mark = position
        at += 1
      } else if at < pattern.count, pattern[at] == name[position] {
        at += 1
        position += 1
      } else if let star {
        at = star + 1
        mark += 1
        position = mark
      } else {
        return false
      }
    }
    return pattern[at...].allSatisfy { $0 == UInt8(ascii: "*") }
  }
}
