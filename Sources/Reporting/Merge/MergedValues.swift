import JobModel

/// What transfers of several reports refer to, each distinct value once: policies, or capabilities.
struct MergedValues {
  private var numbers: [JSON: Int] = [:]
  private(set) var values: [JSON] = []
  /// By value: what `connections: auto` came to in all parts together, by origin.
  private var found: [[String: Int64]] = []

  /// - Returns: the value's number, which the report's own name for it leads to.
  mutating func add(_ named: JSON) -> [String: Int] {
    var references: [String: Int] = [:]
    for member in named.members ?? [] {
      let value = Self.undivided(member.value).removing("found", from: "connections")
      let number = numbers[value] ?? values.count
      if number == values.count {
        numbers[value] = number
        values.append(value)
        found.append([:])
      }
      for one in member.value["connections"]["found"].members ?? [] {
        found[number][one.name] = (found[number][one.name] ?? 0).adding(clamping: one.value.int64 ?? 0)
      }
      references[member.name] = number
    }
    return references
  }

  /// The value of a number, as one machine would say it.
  func json(_ number: Int) -> JSON {
    let value = values[number]
    guard !found[number].isEmpty, var connections = value["connections"].members else { return value }
    connections.append(
      .init(
        "found",
        .object(found[number].sorted { $0.key < $1.key }.map { .init($0.key, .integer($0.value)) })))
    return value.replacing("connections", by: .object(connections))
  }

  /// Limits as they are for the whole job: what stands in `undivided` takes the place of the part's own.
  static func undivided(_ value: JSON) -> JSON {
    guard let members = value.members else { return value }
    let whole = value["undivided"]
    return .object(
      members.filter { $0.name != "undivided" }.map { member in
        guard case .object = whole, whole.members?.contains(where: { $0.name == member.name }) == true else {
          return member.name == "job_limits" ? .init(member.name, undivided(member.value)) : member
        }
        return .init(member.name, whole[member.name])
      })
  }
}

extension JSON {
  /// The object with another value of a member that it has.
  func replacing(_ name: String, by value: JSON) -> JSON {
    .object((members ?? []).map { $0.name == name ? .init(name, value) : $0 })
  }

  /// The object without a member of one of its objects.
  func removing(_ name: String, from owner: String) -> JSON {
    guard let inner = self[owner].members, inner.contains(where: { $0.name == name }) else { return self }
    return replacing(owner, by: .object(inner.filter { $0.name != name }))
  }
}
