import JobModel

/// What failed or waits, by what it has in common, and what a person can do about it.
struct PageAdvice {
  let report: JSON
  let facts: PageFacts

  var html: String {
    let cards = faults + causes + waiting
    return (cards.isEmpty ? "" : "<div class=\"cards\">\n\(cards.joined())</div>\n") + again + warnings
  }

  /// The command that takes up what did not complete, and nothing else.
  private var again: String {
    guard report["run"]["outcome"].string == RunOutcome.failed.rawValue, facts.attention.count > 0,
      let manifest = report["job"]["manifest"].string, manifest != "-", manifest.utf8.allSatisfy(Self.isPlain)
    else { return "" }
    return
      "<p>Then <code>haul run \(Markup.text(manifest)) --failed</code> takes up what is not complete, and asks for nothing else.</p>\n"
  }

  /// Means nothing but itself to a shell.
  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "/"), UInt8(ascii: "_"),
      UInt8(ascii: "-"):
      true
    default: false
    }
  }

  private static let most = 50

  private var causes: [String] {
    let causes = report["causes"].array ?? []
    return causes.prefix(Self.most).map { cause in
      let code = cause["code"].string ?? ""
      let host = cause["host"].string.map { " at " + Page.text($0) } ?? ""
      let ids = cause["ids"].array?.compactMap(\.string) ?? []
      let count = Int(clamping: cause["count"].int64 ?? 0)
      let rest = count > ids.count ? " and \(Page.number(count - ids.count)) more" : ""
      return card(
        ErrorCode(rawValue: code)?.isRetryable == true ? "wait" : "bad",
        "\(Page.count(count, "transfer")): \(Markup.text(code))\(host)",
        Page.text(cause["message"].string ?? ""),
        ErrorCode(rawValue: code)?.hint, ids.map(Page.text).joined(separator: ", ") + rest)
    } + more(causes.count, "cause")
  }

  /// What waits, or was left out, without an error of its own.
  private var waiting: [String] {
    facts.waiting.sorted { ($1.value, $0.key.word) < ($0.value, $1.key.word) }.compactMap { state, count in
      guard let hint = AttentionText.hint(state) else { return nil }
      let reason = state.reason.map { ": " + Markup.text($0) } ?? ""
      return card(
        "wait", "\(Page.count(count, "transfer")) \(Markup.text(state.word))\(reason)", "", hint, "")
    }
  }

  private var faults: [String] {
    let faults = diagnostics("error")
    return faults.prefix(Self.most).map {
      card("bad", "error" + place($0), message($0), $0["hint"].string, "")
    }
      + more(faults.count, "error")
  }

  /// What went wrong and keeps nothing back.
  private var warnings: String {
    let warnings = diagnostics("warning")
    guard !warnings.isEmpty else { return "" }
    let lines = warnings.prefix(Self.most).map { warning in
      let hint = warning["hint"].string.map { " → " + Page.text($0) } ?? ""
      return "<li>\(message(warning))\(place(warning))\(hint)</li>\n"
    }
    return
      "<details><summary>\(Page.count(warnings.count, "warning"))</summary>\n<ul>\n\(lines.joined())</ul>\n"
      + more(warnings.count, "warning").joined() + "</details>\n"
  }

  private func diagnostics(_ severity: String) -> [JSON] {
    (report["diagnostics"].array ?? []).filter { $0["severity"].string == severity }
  }

  private func message(_ diagnostic: JSON) -> String { Page.text(diagnostic["message"].string ?? "") }

  private func place(_ diagnostic: JSON) -> String {
    diagnostic["place"].string.map { " at " + Page.text($0) } ?? ""
  }

  private func more(_ count: Int, _ noun: String) -> [String] {
    count > Self.most
      ? ["<p class=\"note\">\(Page.count(count - Self.most, "more \(noun)")) in the JSON report.</p>\n"] : []
  }

  private func card(_ tone: String, _ title: String, _ message: String, _ hint: String?, _ ids: String)
    -> String
  {
    let told = message.isEmpty ? "" : "<p>\(message)</p>"
    let hint = hint.map { "<p class=\"hint\">\(Page.text($0))</p>" } ?? ""
    let names = ids.isEmpty ? "" : "<p class=\"ids\">\(ids)</p>"
    return "<article class=\"card \(tone)\"><h3>\(title)</h3>\(told)\(hint)\(names)</article>\n"
  }
}
