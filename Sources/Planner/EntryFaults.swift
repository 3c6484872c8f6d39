internal import JobModel

/// Faults of what a glob or a listing has found: each once, with the number of entries that have it and the first of them.
struct EntryFaults {
  private struct Told {
    var fault: EntryFault
    var place: TextPlace
    var count = 0
    var names: [String] = []
  }

  /// Further ones are told one by one.
  private static let limit = 100
  private static let named = 3
  private var told: [Told] = []
  /// Where a fault stands in `told`, by its place and its message.
  private var numbers: [ByteText: Int] = [:]

  mutating func add(_ fault: EntryFault, of name: String, at place: TextPlace, _ faults: PlanFaults) {
    let key = ByteText(place.mark.text + " " + fault.message)
    var one = numbers[key].map { told[$0] } ?? Told(fault: fault, place: place)
    one.count += 1
    if one.count <= Self.named { one.names.append("`\(name)`") }
    if let number = numbers[key] {
      told[number] = one
    } else if told.count < Self.limit {
      numbers[key] = told.count
      told.append(one)
    } else {
      Self.tell(one, faults)
    }
  }

  func report(_ faults: PlanFaults) {
    for one in told { Self.tell(one, faults) }
  }

  private static func tell(_ one: Told, _ faults: PlanFaults) {
    faults.error(
      "\(CauseTally.names(one.names, of: one.count)): \(one.fault.message)", at: one.place,
      hint: one.fault.hint)
  }
}
