import FoundationEssentials
import HTTPTypes

/// The fault file's rules and how often each has matched.
final class FaultBook: Sendable {
  static let none = FaultBook(rules: [])

  private let rules: [FaultRule]
  private let counts: Locked<[Int]>

  init(rules: [FaultRule]) {
    self.rules = rules
    counts = Locked(Array(repeating: 0, count: rules.count))
  }

  /// Reads `[rule, …]` or `{"rules": [rule, …]}`.
  convenience init(file: String) throws {
    guard let content = Disk.read(file) else { throw DepotError.noInput("--faults \(file): cannot be read") }
    struct Wrapped: Decodable { var rules: [FaultRule] }
    do {
      let decoder = JSONDecoder()
      let isList = content.first { $0 > 32 } == UInt8(ascii: "[")
      self.init(
        rules: isList
          ? try decoder.decode([FaultRule].self, from: Data(content))
          : try decoder.decode(Wrapped.self, from: Data(content)).rules)
    } catch {
      throw DepotError.usage("--faults \(file): \(Self.explain(error))")
    }
  }

  /// What happens to this request; counts it.
  func plan(for head: HTTPRequest) -> FaultPlan {
    guard !rules.isEmpty else { return FaultPlan(actions: []) }
    let matching = rules.indices.filter { rules[$0].match?.matches(head) ?? true }
    return counts.withLock { counts in
      let applying = matching.filter { index in
        let seen = counts[index]
        counts[index] += 1
        let rule = rules[index]
        return seen >= rule.skip && rule.times.map { seen - rule.skip < $0 } ?? true
      }
      return FaultPlan(actions: applying.map { rules[$0].action })
    }
  }

  private static func explain(_ error: any Error) -> String {
    switch error {
    case DecodingError.keyNotFound(let key, let context):
      return place(context) + "`\(key.stringValue)` is missing"
    case DecodingError.dataCorrupted(let context), DecodingError.typeMismatch(_, let context),
      DecodingError.valueNotFound(_, let context):
      return place(context) + context.debugDescription
    default: return "\(error)"
    }
  }

  private static func place(_ context: DecodingError.Context) -> String {
    let path = context.codingPath.map { $0.intValue.map(String.init) ?? $0.stringValue }
    return path.isEmpty ? "" : path.joined(separator: ".") + ": "
  }
}

/// The faults of one exchange; the first rule that says something about a thing decides it.
struct FaultPlan: Sendable {
  var actions: [FaultAction]

  subscript<Value>(_ key: KeyPath<FaultAction, Value?>) -> Value? {
    for action in actions {
      if let value = action[keyPath: key] { return value }
    }
    return nil
  }

  /// Every required header, as several rules may each require one.
  var requiredHeaders: [FaultAction.Header] { actions.compactMap(\.requireHeader) }
}
