import JobLedger
import JobModel

/// An effective policy for people: what it says beyond what is built in.
enum PolicyText {
  static func differences(_ policy: EffectivePolicy) -> String {
    let usual = facts(PolicyJSON.write(EffectivePolicy()), "")
    let words = facts(PolicyJSON.write(policy.masked), "").filter { !usual.contains($0) }
    return words.isEmpty ? "as built in" : words.joined(separator: ", ")
  }

  private static func facts(_ json: JSON, _ path: String) -> [String] {
    switch json {
    case .object(let members):
      // Rates read better as such.
      if path == "bandwidth" { return members.map { "\($0.name) \(rate($0.value))" } }
      return members.flatMap { facts($0.value, path.isEmpty ? $0.name : path + "." + $0.name) }
    case .array(let values) where values.isEmpty: return [path]
    case .array(let values):
      let texts = values.compactMap { value -> String? in
        if case .string(let text) = value { text } else { nil }
      }
      let shown =
        texts.count == values.count ? texts.joined(separator: " ") : Figures.count(values.count, "entry")
      return ["\(path) \(DisplayText.safe(shown))"]
    case .string(let text): return ["\(path) \(DisplayText.safe(text))"]
    case .null: return [path]
    case .bool, .integer, .number, .exact: return ["\(path) \(json.text)"]
    }
  }

  private static func rate(_ json: JSON) -> String {
    if case .integer(let bytes) = json { Figures.rate(Double(bytes)) } else { "unlimited" }
  }
}
