/// How one entry of `transfers` becomes many.
package enum FanOut: Sendable, Hashable {
  case single
  /// A local glob of an upload.
  case glob(EntryFilter, EmptyRule)
  /// Everything below a remote prefix.
  case prefix(EntryFilter, EmptyRule)
  case rows(RowSource, EmptyRule)

  /// Which of what is found is meant.
  package var filter: EntryFilter {
    switch self {
    case .single: EntryFilter()
    case .glob(let filter, _), .prefix(let filter, _): filter
    case .rows(let source, _): source.filter
    }
  }
}

/// What `if_empty` says: whether a fan-out that finds nothing is a fault.
package enum EmptyRule: String, Sendable, Hashable, CaseIterable { case fail, warn }

/// `include` and `exclude`, over paths below the fixed part, and `where`.
package struct EntryFilter: Sendable, Hashable {
  package var include: [GlobPattern]
  package var exclude: [GlobPattern]
  package var bounds: EntryBounds?

  package init(include: [GlobPattern] = [], exclude: [GlobPattern] = [], bounds: EntryBounds? = nil) {
    self.include = include
    self.exclude = exclude
    self.bounds = bounds
  }

  /// A pattern of `include` or `exclude`. One that ends in `/` means all below a folder, as in gitignore and rsync: without
  /// another `/` one of that name at any depth.
  package static func pattern(_ text: String) throws(ValueFault) -> GlobPattern {
    let slashes = text.utf8.reversed().prefix { $0 == 0x2F }.count
    let folder = String(decoding: text.utf8.dropLast(slashes), as: UTF8.self)
    guard slashes > 0, !folder.isEmpty else { return try GlobPattern(text) }
    return try GlobPattern((folder.utf8.contains(0x2F) ? "" : "**/") + folder + "/**")
  }

  /// A pattern without `/` is about the name alone, at any depth.
  package func admits(_ path: String) -> Bool {
    (include.isEmpty || include.contains { Self.matches($0, path) })
      && !exclude.contains { Self.matches($0, path) }
  }

  /// Whether nothing below a folder can be admitted.
  package func excludesAll(below folder: String) -> Bool {
    exclude.contains { $0.coversAll(below: folder) }
  }

  private static func matches(_ pattern: GlobPattern, _ path: String) -> Bool {
    pattern.matches(path)
      || (!pattern.text.utf8.contains(0x2F) && pattern.matches(RelativePath.baseName(path)))
  }
}

/// The file whose rows make the transfers (`for_each`).
package struct RowSource: Sendable, Hashable {
  package enum Format: Sendable, Hashable {
    /// Names of the columns where the file has no header row.
    case csv(columns: [String]?)
    case jsonl
    case checksums
    case list
    /// The manifest.json of an S3 Inventory.
    case inventory

    package var word: String {
      switch self {
      case .csv: "csv"
      case .jsonl: "jsonl"
      case .checksums: "checksums"
      case .list: "list"
      case .inventory: "inventory"
      }
    }
  }
  package var format: Format
  /// As written: relative to the manifest's folder, or absolute.
  package var path: String
  package var mark: SourceMark
  package var lineText: String
  /// What an entry's id ends in; nil: its destination.
  package var key: MarkedText?
  /// Of an inventory that stands for the listing of a prefix.
  package var filter = EntryFilter()

  package init(format: Format, path: String, mark: SourceMark, lineText: String, key: MarkedText?) {
    self.format = format
    self.path = path
    self.mark = mark
    self.lineText = lineText
    self.key = key
  }
}
