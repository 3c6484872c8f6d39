internal import Endpoints
internal import JobModel
internal import Posix

/// The rows of an S3 Inventory: the objects that the bucket has, each in its latest version. Keys come decoded; columns are
/// known by the schema's names, in any case, with or without `_`.
final class InventoryReader: RowReader {
  private let path: String
  private let shown: String
  private let bytes: [UInt8]
  private var names: [String] = []
  private var schema: [String] = []
  private var rest: ArraySlice<InventoryManifest.File> = []
  private var current: CSVReader?
  private(set) var file: String?
  /// The bucket that it is of.
  private(set) var bucket = ""

  /// - Parameters:
  ///   - path: of its manifest.json.
  ///   - shown: the same, as diagnostics name it.
  init(path: String, shown: String) throws(SystemError) {
    (self.path, self.shown) = (path, shown)
    bytes = try Files.read(path)
  }

  var line: Int { current?.line ?? 1 }

  func bind(_ names: [String]) throws(RowFault) -> (missing: [String], known: [String]) {
    let manifest: InventoryManifest
    do throws(ValueFault) { manifest = try InventoryManifest(bytes) } catch {
      throw fault(error.message, hint: error.hint)
    }
    (schema, rest, bucket) = (manifest.columns, manifest.files[...], manifest.bucket)
    self.names = names.map { name in schema.first { Self.plain($0) == Self.plain(name) } ?? "Key" }
    let known = Set(schema.map(Self.plain))
    return (names.filter { !known.contains(Self.plain($0)) }, schema.map(Self.plain))
  }

  private static func plain(_ name: String) -> String { name.lowercased().filter { $0 != "_" } }

  func next() throws(RowFault) -> Bool {
    while true {
      if let current, try current.next() {
        if try isThere(current) { return true }
      } else {
        guard let next = rest.popFirst() else { return false }
        current = try open(next)
      }
    }
  }

  /// Behind the wanted columns every file binds those that the reader itself looks at.
  private static let own = ["Key", "IsLatest", "IsDeleteMarker", "Size", "LastModifiedDate", "Bucket"]

  private func open(_ entry: InventoryManifest.File) throws(RowFault) -> CSVReader {
    let places = InventoryManifest.places(of: entry.key)
    guard let place = places.first(where: { Files.isRegular(RelativePath.folder(path) + $0) }) else {
      throw fault(
        "the inventory's file `\(entry.key)` is not there",
        hint: "copy it beside the manifest, or into a folder `data` beside it", isUnreadable: true)
    }
    do {
      file = RelativePath.folder(shown) + place
      let buffer = RowBuffer(
        try InventoryFile(RelativePath.folder(path) + place, md5: entry.md5), kind: .csv)
      if let error = buffer.readError {
        throw self.fault("the inventory's file `\(entry.key)` can't be read: \(error)", isUnreadable: true)
      }
      let reader = CSVReader(buffer, columns: schema)
      _ = try reader.bind(names + Self.own)
      return reader
    } catch let fault as RowFault {
      throw fault
    } catch {
      throw self.fault(
        "the inventory's file `\(entry.key)` can't be read: \(UnreadableFile.reason(error))",
        isUnreadable: true)
    }
  }

  /// A version that was replaced, or the mark of a deletion, is no object.
  ///
  /// - Throws: where the row is of another bucket.
  private func isThere(_ reader: CSVReader) throws(RowFault) -> Bool {
    let isLatest = try own("IsLatest", reader)?.lowercased() != "false"
    let isDeleted = try own("IsDeleteMarker", reader)?.lowercased() == "true"
    guard isLatest, !isDeleted else { return false }
    guard let other = try own("Bucket", reader), other != bucket else { return true }
    throw RowFault(
      message: "the row is of the bucket `\(other)`, and the inventory of `\(bucket)`",
      hint: "take it out, or have it copied by an inventory of its own bucket", place: reader.place(nil),
      isFinal: false)
  }

  /// A cell of the reader's own; nil where the inventory has no such column.
  private func own(_ name: String, _ reader: CSVReader) throws(RowFault) -> String? {
    guard schema.contains(name), let index = Self.own.firstIndex(of: name) else { return nil }
    do throws(ValueFault) {
      return try reader.value(names.count + index)
    } catch {
      throw RowFault(
        message: error.message, hint: error.hint, place: reader.place(names.count + index), isFinal: false)
    }
  }

  /// The object's key and size, and when it was stored, in seconds since 1970.
  func object() throws(RowFault) -> (key: String, size: Int64?, modified: Double?) {
    guard let current, let key = try own("Key", current) else { return ("", nil, nil) }
    let size = try own("Size", current)
    let modified = try own("LastModifiedDate", current)
    return (
      Self.decoded(key), size.flatMap { Int64($0) }.map { max(0, $0) }, modified.flatMap(Timestamp.seconds)
    )
  }

  private static func decoded(_ key: String) -> String { WebURL.decode(key.replacing("+", with: " ")) }

  func value(_ index: Int) throws(ValueFault) -> String {
    guard let text = try current?.value(index) else { return "" }
    return names[index] == "Key" ? Self.decoded(text) : text
  }

  func place(_ index: Int?) -> RowPlace {
    current?.place(index) ?? RowPlace(line: 1, column: 1, lineText: "")
  }

  private func fault(_ message: String, hint: String? = nil, isUnreadable: Bool = false) -> RowFault {
    RowFault(
      message: message, hint: hint, place: RowPlace(line: 1, column: 1, lineText: ""), isFinal: true,
      isUnreadable: isUnreadable)
  }
}
