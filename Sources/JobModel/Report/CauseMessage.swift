/// A message without what names one transfer: ids, paths, numbers and digests become `…`; hosts, ports and HTTP
/// statuses stay. Messages that are alike then have one cause.
package enum CauseMessage {
  /// - Parameter id: the transfer's, where it is known.
  package static func general(_ message: String, id: String? = nil) -> String {
    let name = id.map { $0.split(separator: "/").last.map(String.init) ?? $0 }
    // What stands between backticks is one word, blanks included.
    let parts = message.split(separator: "`", omittingEmptySubsequences: false).map(String.init)
    guard parts.count % 2 == 1 else { return words(message, id, name) }
    return parts.enumerated().map { index, part in
      guard index % 2 == 1 else { return words(part, id, name) }
      return part == id || part == name || (part.contains("/") && !part.contains("://"))
        ? "`…`" : "`\(word(part, after: "", id, name))`"
    }.joined()
  }

  private static func words(_ text: String, _ id: String?, _ name: String?) -> String {
    var before = ""
    return text.split(separator: " ", omittingEmptySubsequences: false).map { piece in
      let lead = piece.prefix { "([\"'".contains($0) }
      let core = piece.dropFirst(lead.count)
      let tail = core.reversed().prefix { ")],.;:\"'".contains($0) }
      let inner = String(core.dropLast(tail.count))
      defer { before = inner }
      return "\(lead)\(word(inner, after: before, id, name))\(String(tail.reversed()))"
    }.joined(separator: " ")
  }

  private static func word(_ word: String, after before: String, _ id: String?, _ name: String?) -> String {
    if let scheme = word.range(of: "://") {
      let rest = word[scheme.upperBound...]
      let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
      return "\(word[..<scheme.upperBound])\(authority)\(rest.count > authority.count ? "/…" : "")"
    }
    guard !word.isEmpty else { return word }
    let isNumber = word.allSatisfy(\.isNumber)
    // Also where a transfer is called so.
    if isNumber, before == "HTTP" || before == "port" { return word }
    if word == id || word == name { return "…" }
    if word.contains("/") { return isMediaType(word) ? word : "…" }
    if isNumber { return "…" }
    if word.utf8.count >= 16, word.utf8.allSatisfy({ $0.isLowerHexDigit }) { return "…" }
    return word
  }

  private static func isMediaType(_ word: String) -> Bool {
    let parts = word.split(separator: "/", omittingEmptySubsequences: false)
    let trees = ["application", "audio", "font", "image", "message", "model", "multipart", "text", "video"]
    return parts.count == 2 && trees.contains(String(parts[0]))
  }
}

extension StringProtocol {
  /// The first place of a short text.
  fileprivate func range(of mark: String) -> Range<Index>? {
    var start = startIndex
    while start < endIndex {
      if self[start...].hasPrefix(mark) { return start..<index(start, offsetBy: mark.count) }
      start = index(after: start)
    }
    return nil
  }
}
