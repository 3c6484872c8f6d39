internal import JobModel

/// Expands a template over the rows of a file.
struct RowExpansion {
  let expansion: TemplateExpansion
  let source: RowSource

  func run(_ rule: EmptyRule, _ visit: Visit) throws {
    let place = TextPlace(mark: source.mark, lineText: source.lineText)
    let earlierErrors = expansion.faults.errorCount
    let reader: any RowReader
    do {
      reader = try open()
    } catch {
      expansion.faults.error(
        "`\(expansion.context.shown(source.path))` can't be read: \(UnreadableFile.reason(error))", at: place,
        hint: "`for_each` names a file relative to the manifest's folder", cause: .unreadableInput)
      return
    }
    let columns = columns()
    guard try bind(reader, columns) else { return }
    var listing: InventoryListing?
    if let inventory = reader as? InventoryReader {
      guard let opened = InventoryListing(expansion, source, inventory, at: place) else { return }
      listing = opened
    }
    let planner = expansion.planner(columns: columns)
    let places = planner.places(expansion, row: reader)
    var count = 0
    var head = Array("\(expansion.index)".utf8) + [0]
    reader.appendHead(to: &head)
    while let isRow = next(reader) {
      guard isRow else { continue }
      var entry = EntryPlanner.Entry.row
      if listing != nil {
        do throws(RowFault) {
          if listing?.isOfPrefix == true {
            guard let found = try listing?.entry() else { continue }
            entry = found
          } else if try listing?.isFolderMark() == true {
            continue
          }
        } catch {
          report(error, in: reader)
          continue
        }
      }
      count += 1
      guard case .new(let digest) = try look(at: reader, behind: head) else { continue }
      guard var planned = expansion.planned(planner, entry, row: reader) else { continue }
      planned.rowDigest = digest
      try visit(planned, places)
    }
    // One that a row may lack has something in its place.
    let unseen =
      count == 0 ? [] : reader.unseen.filter { name in references(to: name).contains { $0.fallback == nil } }
    report(missing: unseen) { _ in "no row has it" }
    if let message = listing?.folders.message { expansion.faults.warning(message, at: place) }
    listing?.selection.report(expansion.faults)
    // Where its rows are faulty, they are told themselves.
    if count == 0, expansion.faults.errorCount == earlierErrors {
      let nothing = listing?.nothing ?? "`\(expansion.context.shown(source.path))` has no rows"
      expansion.empty(listing?.selection.emptiness(nothing) ?? nothing, rule, at: place)
    }
  }

  private enum Look {
    case known
    /// The digest is nil where nobody asks for it.
    case new(digest: UInt64?)
  }

  private func look(at row: any RowReader, behind head: [UInt8]) throws -> Look {
    guard let known = expansion.context.known else { return .new(digest: nil) }
    var bytes = head
    guard row.appendRow(to: &bytes) else { return .new(digest: nil) }
    return try known.digest(of: bytes).map { .new(digest: $0) } ?? .known
  }

  private func open() throws -> any RowReader {
    func buffer(_ kind: Masked.Line) throws -> RowBuffer {
      try RowBuffer(path: expansion.context.absolute(source.path), kind: kind)
    }
    switch source.format {
    case .csv(let columns): return CSVReader(try buffer(.csv), columns: columns)
    case .jsonl: return JSONLinesReader(try buffer(.json))
    case .checksums: return ChecksumsReader(try buffer(.text))
    case .list: return ListReader(try buffer(.text))
    case .inventory:
      let context = expansion.context
      return try InventoryReader(path: context.absolute(source.path), shown: context.shown(source.path))
    }
  }

  /// True for a row, false for a faulty one, nil at the end.
  private func next(_ reader: any RowReader) -> Bool? {
    do throws(RowFault) {
      return try reader.next() ? true : nil
    } catch {
      report(error, in: reader)
      return error.isFinal ? nil : false
    }
  }

  private func report(_ fault: RowFault, in reader: any RowReader) {
    let mark = SourceMark(
      file: reader.file ?? expansion.context.shown(source.path), line: fault.place.line,
      column: fault.place.column)
    expansion.faults.error(
      fault.message, at: TextPlace(mark: mark, lineText: fault.place.lineText), hint: fault.hint,
      cause: fault.isUnreadable ? .unreadableInput : .manifest)
  }

  /// False where columns are missing, which is reported where the manifest names them.
  private func bind(_ reader: any RowReader, _ columns: [String]) throws -> Bool {
    do throws(RowFault) {
      let names = try reader.bind(columns)
      report(missing: names.missing) { name in
        NearMiss.of(name, among: names.known).map { "did you mean `${each.\($0)}`?" }
          ?? Self.hint(names.known)
      }
      return names.missing.isEmpty
    } catch {
      report(error, in: reader)
      return false
    }
  }

  /// Each once, where it is named first.
  private func report(missing: [String], hint: (String) -> String) {
    var missing = missing
    for text in texts() {
      for reference in text.text.references {
        guard case .column(let name) = reference.name, let index = missing.firstIndex(of: name) else {
          continue
        }
        missing.remove(at: index)
        expansion.faults.error(
          "`\(expansion.context.shown(source.path))` has no column `\(name)`", at: TextPlace(text),
          hint: hint(name))
      }
    }
  }

  private func references(to name: String) -> [InterpolatedText.Reference] {
    texts().flatMap { $0.text.references.filter { $0.name == .column(name) } }
  }

  private static func hint(_ known: [String]) -> String {
    let has = "it has \(known.joined(separator: ", "))"
    guard known.count == 1, known[0].utf8.contains(where: { $0 == 0x3B || $0 == 0x09 }) else { return has }
    return has + ": the cells of a csv are separated by `,`"
  }

  private func columns() -> [String] {
    var names: [String] = []
    for text in texts() {
      for reference in text.text.references {
        if case .column(let name) = reference.name, !names.contains(name) { names.append(name) }
      }
    }
    return names
  }

  private func texts() -> [MarkedText] {
    let template = expansion.template
    var texts = [template.source.text, template.destination.text]
    if let key = source.key { texts.append(key) }
    texts += template.expect.values.sorted { $0.mark < $1.mark }
    texts += template.rowSettings.map(\.value) + template.needs + template.attributes.map(\.value)
    return texts + template.headers.compactMap(\.text) + (template.then?.texts ?? [])
  }
}
