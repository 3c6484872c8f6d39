internal import Endpoints
internal import JobModel

/// An inventory in place of a listing: which of its objects lie below the source's prefix.
struct InventoryListing {
  private let reader: InventoryReader
  private let expansion: TemplateExpansion
  private let filter: EntryFilter
  private let faults: PlanFaults
  private(set) var selection: EntrySelection
  private let endpoint: String
  /// nil where the rows themselves name the sources.
  private let prefix: String?
  private(set) var folders = FolderMarks()

  var isOfPrefix: Bool { prefix != nil }

  /// What is said where none of its objects is wanted; nil where its rows name the sources.
  var nothing: String? {
    prefix.map { "nothing of the inventory lies below `\(endpoint):\($0)`" }
  }

  /// nil where the inventory is of another bucket, or the prefix can't be told; both are reported.
  init?(_ expansion: TemplateExpansion, _ source: RowSource, _ reader: InventoryReader, at place: TextPlace) {
    let (template, context) = (expansion.template, expansion.context)
    guard case .remote(let name) = template.source.kind else { return nil }
    if let bucket = context.job.endpoints[name]?.driver.bucketName, bucket != reader.bucket {
      expansion.faults.error(
        "the inventory is of the bucket `\(reader.bucket)`, and `\(name)` is of `\(bucket)`", at: place,
        hint: "name an endpoint of the inventory's bucket as the source")
      return nil
    }
    (self.reader, self.expansion, filter, endpoint) = (reader, expansion, source.filter, name)
    (faults, selection) = (expansion.faults, expansion.selection(source.filter))
    guard !template.source.text.text.dependsOnEntry else {
      prefix = nil
      return
    }
    guard let text = expansion.text(of: template.source.text) else { return nil }
    prefix = text
  }

  /// The reader's object only shows that there is a folder: no file can have its name.
  mutating func isFolderMark() throws(RowFault) -> Bool {
    let key = try reader.object().key
    guard key.utf8.last == UInt8(ascii: "/") else { return false }
    folders.note(key)
    return true
  }

  /// The reader's object; nil where it is not one of those that are wanted.
  mutating func entry() throws(RowFault) -> EntryPlanner.Entry? {
    let (key, size, modified) = try reader.object()
    // By bytes: as text, a prefix may end within what counts as one character.
    guard let prefix, key.utf8.starts(with: prefix.utf8) else { return nil }
    let below = String(decoding: key.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
    guard !expansion.isFolderMark(below, size: size) else {
      folders.note(below)
      return nil
    }
    guard filter.admits(below),
      selection.takes(size: size, modified: modified, "\(endpoint):\(key)", faults)
    else { return nil }
    return .found(source: .remote(endpoint: endpoint, path: prefix + below), below: below, size: size)
  }
}
