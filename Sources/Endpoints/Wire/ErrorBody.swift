import JobModel

/// What a server says of an error in its body: problem details, the first line of a text, or a page's title.
enum ErrorBody {
  private static let limit = 200

  /// Empty where it says nothing.
  static func summary(_ response: Response) -> String {
    if let summary = ProblemDetails(response)?.summary, !summary.isEmpty { return summary }
    let text = String(decoding: response.body.prefix(4096), as: UTF8.self)
    let type = response.headers["Content-Type"]?.lowercased() ?? ""
    if type.hasPrefix("text/html") { return cut(title(text)) }
    if type.contains("json"), let members = response.object { return cut(Substring(said(members) ?? "")) }
    guard type.hasPrefix("text/plain") else { return "" }
    return cut(text.split(whereSeparator: \.isNewline).first { !$0.allSatisfy(\.isWhitespace) } ?? "")
  }

  /// What servers without problem details call it.
  private static func said(_ body: JSON) -> String? {
    for name in ["message", "error_description", "detail", "error"] {
      if let text = body[name].string ?? body[name]["message"].string, !text.isEmpty { return text }
    }
    return nil
  }

  private static func title(_ page: String) -> Substring {
    let folded = page.utf8.map { (0x41...0x5A).contains($0) ? $0 + 0x20 : $0 }
    guard let start = index(of: "<title>", in: folded[...]) else { return "" }
    let rest = folded[(start + 7)...]
    guard let end = index(of: "</title>", in: rest) else { return "" }
    let bytes = Array(page.utf8)[(start + 7)..<end]
    return Substring(String(decoding: bytes, as: UTF8.self))
  }

  private static func index(of word: String, in bytes: ArraySlice<UInt8>) -> Int? {
    let word = Array(word.utf8)
    guard bytes.count >= word.count else { return nil }
    return (bytes.startIndex...(bytes.endIndex - word.count)).first { bytes[$0...].starts(with: word) }
  }

  /// On one line, and no longer than a message may be.
  private static func cut(_ text: Substring) -> String {
    let line = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    return line.truncated(to: limit)
  }
}
