import JobModel

/// Sums of objects of numbers: `totals` of reports, and of their selections.
struct MergedTotals {
  private var members: [(name: String, value: Sum)] = []

  private enum Sum {
    case number(Int64)
    case object(MergedTotals)
  }

  mutating func add(_ totals: JSON) {
    for member in totals.members ?? [] {
      let at = members.firstIndex { $0.name == member.name }
      switch (at.map { members[$0].value }, member.value) {
      case (nil, .object):
        var inner = MergedTotals()
        inner.add(member.value)
        members.append((member.name, .object(inner)))
      case (.object(var inner), .object):
        inner.add(member.value)
        if let at { members[at].value = .object(inner) }
      case (nil, _): members.append((member.name, .number(max(0, member.value.int64 ?? 0))))
      case (.number(let sum), _):
        if let at { members[at].value = .number(sum.adding(clamping: max(0, member.value.int64 ?? 0))) }
      case (.object, _): break
      }
    }
  }

  var json: JSON {
    .object(
      members.map { name, value in
        switch value {
        case .number(let number): .init(name, .integer(number))
        case .object(let inner): .init(name, inner.json)
        }
      })
  }

  subscript(_ name: String) -> Int64 {
    if case .number(let number)? = members.first(where: { $0.name == name })?.value { number } else { 0 }
  }
}
