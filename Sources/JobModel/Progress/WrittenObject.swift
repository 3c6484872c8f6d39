/// What a job wrote at a remote destination and has yet to replace: `if_exists` takes nobody's file for it, nor it for
/// a stranger's. On record with the remote object until another one is written.
package struct WrittenObject: Sendable, Hashable {
  /// How its facts are named on record.
  private enum Mark: String, CaseIterable {
    case written = "written_"
    /// What the request says that is about to put it there: whether it did is known once that is answered.
    case intended = "intended_"
  }
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

  /// What a server has just said of what was written; nil where it said nothing that tells it from others.
  package init?(size: Int64, etag: String?, version: String?, digests: [DigestAlgorithm: String]) {
    guard etag != nil || version != nil || !digests.isEmpty else { return nil }
    facts = Dictionary(uniqueKeysWithValues: digests.map { ($0.key.rawValue, $0.value) })
    (facts["size"], facts["etag"], facts["version"]) = (String(size), etag, version)
  }

  package init?(recordedIn object: RemoteObject) { self.init(object, .written) }
  package init?(intendedIn object: RemoteObject) { self.init(object, .intended) }

  private init?(_ object: RemoteObject, _ mark: Mark) {
    facts = [:]
    for (name, value) in object.facts where name.hasPrefix(mark.rawValue) {
      facts[String(name.dropFirst(mark.rawValue.count))] = value
    }
    guard !facts.isEmpty else { return nil }
  }

  func record(in object: inout RemoteObject) { record(in: &object, .written) }
  func recordIntended(in object: inout RemoteObject) { record(in: &object, .intended) }

  private func record(in object: inout RemoteObject, _ mark: Mark) {
    // Of one object, not of two.
    object.facts = object.facts.filter { !$0.key.hasPrefix(mark.rawValue) }
    for (name, value) in facts { object.facts[mark.rawValue + name] = value }
  }

  static func forget(in object: inout RemoteObject) {
    object.facts = object.facts.filter { fact in !Mark.allCases.contains { fact.key.hasPrefix($0.rawValue) } }
  }

  /// Its digest; nil where none is on record.
  package subscript(algorithm: DigestAlgorithm) -> String? { facts[algorithm.rawValue] }
  package var size: Int64? { facts["size"].flatMap { Int64($0) } }

  /// Whether it may be what a request put there, by size and content.
  package func mayBe(_ intended: WrittenObject?) -> Bool {
    guard let intended, size == intended.size else { return false }
    return self[.sha256] == nil || self[.sha256] == intended[.sha256]
  }

  /// Whether what stands there is this: as far as tags, versions or times tell files of one size apart.
  package func isSame(as seen: RemoteObject) -> Bool {
    guard let size = facts["size"], seen.size.map({ String($0) == size }) ?? true else { return false }
    let told = seen.digests.filter { facts[$0.key.rawValue] != nil }
    // The same bytes may get another tag: by another storage class, or another node.
    guard told.isEmpty else { return told.allSatisfy { facts[$0.key.rawValue] == $0.value } }
    var mine = RemoteObject()
    (mine.etag, mine.version, mine.lastModified) = (facts["etag"], facts["version"], facts["modified"])
    return mine.hasMark(of: seen)
      ?? (seen.size != nil && mine.etag == nil && mine.version == nil && mine.lastModified == nil)
  }
}
