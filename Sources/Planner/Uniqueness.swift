internal import JobModel

/// Finds ids and destinations that come twice.
final class Uniqueness {
  private let ids = HashLog()
  private let destinations = HashLog()
  private var suspectIDs: Set<UInt64> = []
  private var suspectDestinations: Set<UInt64> = []
  private var missingNeeds: Set<UInt64> = []
  /// By UTF-8: two ways to write one character are two names to a file system.
  private var firstIDs: [[UInt8]: SourceMark] = [:]
  private var firstDestinations: [[UInt8]: SourceMark] = [:]
  /// More than can be printed: enough to refuse the plan.
  private static let limit = 1000

  func note(_ planned: PlannedTransfer) {
    ids.note(NameHash.of(planned.id))
    if let key = Self.key(planned) { destinations.note(NameHash.of(key)) }
  }

  /// - Parameter needs: hashes of ids that have to be among those noted.
  func settle(needs: Set<UInt64>) {
    (suspectIDs, missingNeeds) = ids.settle(looking: needs, limit: Self.limit)
    suspectDestinations = destinations.settle(looking: [], limit: Self.limit).repeated
  }

  var hasSuspects: Bool { !suspectIDs.isEmpty || !suspectDestinations.isEmpty || !missingNeeds.isEmpty }

  func confirm(_ planned: PlannedTransfer, _ places: any EntryPlaces, _ faults: PlanFaults) {
    if suspectIDs.contains(NameHash.of(planned.id)) {
      let place = places.id
      if let first = firstIDs[Array(planned.id.utf8)] {
        faults.error(
          "the id `\(planned.id)` is taken already, by \(first.text)", at: place,
          hint: "give `for_each` a `key` that differs from row to row")
      } else {
        firstIDs[Array(planned.id.utf8)] = place.mark
      }
    }
    if let key = Self.key(planned), suspectDestinations.contains(NameHash.of(key)) {
      let place = places.destination
      if let first = firstDestinations[Array(key.utf8)] {
        faults.error(
          "`\(Masked.text(key))` is the destination of another transfer too, of \(first.text)", at: place,
          hint: "give one of them another `to`")
      } else {
        firstDestinations[Array(key.utf8)] = place.mark
      }
    }
    guard !missingNeeds.isEmpty, places.haveRowNeeds else { return }
    for need in planned.settings.needs where missingNeeds.contains(NameHash.of(need)) {
      faults.error(
        "`\(need)` in `needs` matches no transfer", at: places.id, hint: "name the id of a transfer")
    }
  }

  /// Nil where the name is not known yet, and for what is not carried out.
  private static func key(_ planned: PlannedTransfer) -> String? {
    planned.takesSourceName || !planned.settings.isEnabled ? nil : planned.destination.text
  }
}
