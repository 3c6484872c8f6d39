package import JobModel

/// Tells destinations that are those of some transfers, or a folder of them, or in one; by hashes, so rather too many.
package struct NameClash: Sendable {
  private let keys: DestinationKeys
  private var names: Set<UInt64> = []
  private var folders: Set<UInt64> = []

  package init(_ keys: DestinationKeys) { self.keys = keys }

  package mutating func note(_ place: Place) {
    let destination = keys.of(place)
    names.insert(NameHash.of(destination))
    NameHash.folders(of: destination) { folders.insert($1) }
  }

  package func meets(_ place: Place) -> Bool {
    let destination = keys.of(place)
    let hash = NameHash.of(destination)
    if names.contains(hash) || folders.contains(hash) { return true }
    var isBelow = false
    NameHash.folders(of: destination) { isBelow = isBelow || names.contains($1) }
    return isBelow
  }
}
