/// What a job wrote at a remote destination and has yet to replace: `if_exists` takes nobody's file for it, nor it for
/// a stranger's. On record with the remote object until another one is written.
package struct WrittenObject: Sendable, Hashable {
  private static let prefix = "written_"
  private var facts: [String: String]

  /// What the completion on record left there, or one before it; nil where there was none, or of a download.
  init?(_ progress: TransferProgress) {
    guard progress.completedAt != nil, progress.source != nil || progress.sourceObject != nil else {
      guard let recorded = Self(recordedIn: progress.remote) else { return nil }
      self = recorded
      return
    }
    let object = progress.remote
    let digests = object.digests.merging(progress.digests) { $1 }
    facts = Dictionary(uniqueKeysWithValues: digests.map { ($0.key.rawValue, $0.value) })
    facts["size"] = object.size.map(String.init)
    facts["etag"] = object.etag
    facts["version"] = object.version
    facts["modified"] = object.lastModified
  }

  package init?(recordedIn object: RemoteObject) {
    facts = [:]
    for (name, value) in object.facts where name.hasPrefix(Self.prefix) {
      facts[String(name.dropFirst(Self.prefix.count))] = value
    }
    guard !facts.isEmpty else { return nil }
  }

  func record(in object: inout RemoteObject) {
    for (name, value) in facts { object.facts[Self.prefix + name] = value }
  }

  /// Whether what stands there is this: as far as tags, versions or times tell files of one size apart.
  package func isSame(as seen: RemoteObject) -> Bool {
    guard let size = facts["size"], seen.size.map(String.init) == size else { return false }
    let told = seen.digests.filter { facts[$0.key.rawValue] != nil }
    guard told.allSatisfy({ facts[$0.key.rawValue] == $0.value }) else { return false }
    if let etag = facts["etag"], let other = seen.etag { return etag == other }
    if let version = facts["version"], let other = seen.version { return version == other }
    if let time = facts["modified"], let other = seen.lastModified { return time == other }
    return !told.isEmpty || facts["etag"] == nil && facts["version"] == nil && facts["modified"] == nil
  }
}
