internal import JobModel

/// Finds ids and destinations that come twice, and destinations that are a folder of others.
final class Uniqueness {
  private let keys: DestinationKeys
  private let ids = HashLog()
  private let destinations = HashLog()
  private let files = HashLog()
  private let folders = HashLog()
  /// Of the path before, by depth: most paths share their folders with it.
  private var lastFolders: [UInt64] = []
  private var suspectIDs: Set<UInt64> = []
  private var suspectDestinations: Set<UInt64> = []
  private var suspectFolders: Set<UInt64> = []
  private var missingNeeds: Set<UInt64> = []
  private var circling: Set<UInt64> = []
  private var firstIDs: [ByteText: SourceMark] = [:]
  private var firstDestinations: [ByteText: Seen] = [:]
  private var firstFiles: [ByteText: Seen] = [:]
  private var firstFolders: [ByteText: Seen] = [:]
  /// More than can be printed: enough to refuse the plan.
  private static let limit = 1000

  /// The first transfer that was seen with a name.
  private struct Seen {
    let id: String
    let mark: SourceMark
    /// A store's listing named it, and not the user.
    let isListed: Bool
  }

  init(_ keys: DestinationKeys) { self.keys = keys }

  func note(_ planned: PlannedTransfer) {
    ids.note(NameHash.of(planned.id))
    guard let key = key(planned) else { return }
    let hash = NameHash.of(key)
    destinations.note(hash)
    guard planned.destination.isLocal else { return }
    files.note(hash)
    NameHash.folders(of: key) { depth, hash in
      if depth < lastFolders.count, lastFolders[depth] == hash { return }
      lastFolders.removeSubrange(min(depth, lastFolders.count)...)
      lastFolders.append(hash)
      folders.note(hash)
    }
  }

  /// - Parameters:
  ///   - needs: hashes of ids that have to be among those noted.
  ///   - circling: hashes of ids that wait for each other.
  func settle(needs: Set<UInt64>, circling: Set<UInt64>) {
    self.circling = circling
    (suspectIDs, missingNeeds) = ids.settle(looking: needs, limit: Self.limit)
    suspectDestinations = destinations.settle(looking: [], limit: Self.limit).repeated
    suspectFolders = files.shared(with: folders, limit: Self.limit)
  }

  var hasSuspects: Bool {
    !suspectIDs.isEmpty || !suspectDestinations.isEmpty || !suspectFolders.isEmpty || !missingNeeds.isEmpty
      || !circling.isEmpty
  }

  func confirm(_ planned: PlannedTransfer, _ places: any EntryPlaces, _ faults: PlanFaults) {
    if suspectIDs.contains(NameHash.of(planned.id)) {
      let place = places.id
      if let first = firstIDs[ByteText(planned.id)] {
        faults.error(
          "the id `\(planned.id)` is taken already, by \(first.text)", at: place,
          hint: places.idHint)
      } else {
        firstIDs[ByteText(planned.id)] = place.mark
      }
    }
    if let key = key(planned) {
      confirm(key, NameHash.of(key), planned, places, faults)
      if planned.destination.isLocal { confirmFolders(key, planned, places, faults) }
    }
    guard !missingNeeds.isEmpty || !circling.isEmpty, places.haveRowNeeds else { return }
    if circling.contains(NameHash.of(planned.id)) {
      faults.error(
        "`needs` runs in a circle: `\(planned.id)` waits in it, or behind it", at: places.id,
        hint: "drop one of these needs")
    }
    for need in planned.settings.needs where missingNeeds.contains(NameHash.of(need)) {
      faults.error(
        "`\(need)` in `needs` matches no transfer", at: places.id, hint: "name the id of a transfer")
    }
  }

  private func confirm(
    _ key: String, _ hash: UInt64, _ planned: PlannedTransfer, _ places: any EntryPlaces, _ faults: PlanFaults
  ) {
    guard suspectDestinations.contains(hash) else { return }
    let place = places.destination
    guard let first = firstDestinations[ByteText(key)] else {
      firstDestinations[ByteText(key)] = seen(planned, places)
      return
    }
    let shown = Masked.text(planned.destination.text)
    guard !first.isListed, !places.areListed else {
      let message = "`\(first.id)` and `\(planned.id)` have one destination, `\(shown)`"
      let hint = "leave one of them out with `exclude`"
      // Only who writes into a folder is told who else does.
      guard planned.destination.isLocal else { return faults.error(message, at: place, hint: hint) }
      return faults.warning(message + ": one of them will fail", at: place, hint: hint)
    }
    faults.error(
      "`\(shown)` is the destination of another transfer too, of \(first.mark.text)", at: place,
      hint: "give one of them another `to`")
  }

  /// A file's name that is a folder of another one's path.
  private func confirmFolders(
    _ key: String, _ planned: PlannedTransfer, _ places: any EntryPlaces, _ faults: PlanFaults
  ) {
    guard !suspectFolders.isEmpty else { return }
    if suspectFolders.contains(NameHash.of(key)) {
      if let other = firstFolders[ByteText(key)] {
        tell(file: key, planned.id, folderOf: other.id, other, places, faults)
      } else if firstFiles[ByteText(key)] == nil {
        firstFiles[ByteText(key)] = seen(planned, places)
      }
    }
    var hashes: [UInt64] = []
    NameHash.folders(of: key) { _, hash in hashes.append(hash) }
    guard hashes.contains(where: suspectFolders.contains) else { return }
    var end = key.utf8.startIndex
    for hash in hashes {
      end = key.utf8[key.utf8.index(after: end)...].firstIndex(of: 0x2F) ?? key.utf8.endIndex
      guard suspectFolders.contains(hash) else { continue }
      let folder = String(Substring(key.utf8[..<end]))
      if let other = firstFiles[ByteText(folder)] {
        tell(file: folder, other.id, folderOf: planned.id, other, places, faults)
      } else if firstFolders[ByteText(folder)] == nil {
        firstFolders[ByteText(folder)] = seen(planned, places)
      }
    }
  }

  private func tell(
    file: String, _ id: String, folderOf inner: String, _ other: Seen, _ places: any EntryPlaces,
    _ faults: PlanFaults
  ) {
    let message = "`\(file)` is a file, of `\(id)`, and a folder, of `\(inner)`"
    guard !other.isListed, !places.areListed else {
      return faults.warning(
        message + ": one of them will fail", at: places.destination,
        hint: "leave one of them out with `exclude`")
    }
    faults.error(
      message + "; the other one is at \(other.mark.text)", at: places.destination,
      hint: "give one of them another `to`")
  }

  private func seen(_ planned: PlannedTransfer, _ places: any EntryPlaces) -> Seen {
    Seen(id: planned.id, mark: places.destination.mark, isListed: places.areListed)
  }

  /// Nil where the name is not known yet, and for what is not carried out.
  private func key(_ planned: PlannedTransfer) -> String? {
    planned.takesSourceName || !planned.settings.isEnabled || planned.settings.obstacle != nil
      ? nil : keys.of(planned.destination)
  }
}
