internal import JobModel

/// Room to put texts together in, again and again.
final class TextScratch {
  var bytes: [UInt8] = []
}

/// What one entry of a fan-out puts into the texts of its template.
struct EntryValues {
  let run: RunValues
  let uuid: (String) -> String
  let row: (any RowReader)?
  let scratch: TextScratch
  /// The path that `${source.…}` is about.
  var sourcePath: String?
  var id: String?
  /// Leaves the run's values as they are written: what a destination is known by.
  var keepsRun = false
  /// Leaves the query of a URL in a cell out: ids are shown.
  var dropsQueries = false

  func text(_ compiled: CompiledText) throws(EntryFault) -> String {
    if let constant = compiled.constant { return constant }
    if let text = plainText(compiled), !dropsQueries || !text.utf8.contains(0x3A) { return text }
    var result = ""
    for part in compiled.parts {
      switch part {
      case .literal(let literal): result += literal
      case .cell(let index, let reference): result += try cell(index, reference)
      case .reference(let reference): result += try value(of: reference, compiled.place)
      }
    }
    return result
  }

  /// A text of `needs`: what a row puts beside other text is a part of a name, which ids hold encoded; a cell that is the
  /// whole text is an id itself, or a glob of ids.
  func need(_ compiled: CompiledText) throws(EntryFault) -> String {
    if compiled.parts.count == 1 { return PercentEncoding.need(try text(compiled)) }
    var values = self
    values.dropsQueries = true
    var result = ""
    for part in compiled.parts {
      switch part {
      case .literal(let literal): result += PercentEncoding.need(literal)
      case .cell(let index, let reference): result += PercentEncoding.id(try values.cell(index, reference))
      case .reference(let reference): result += PercentEncoding.id(try value(of: reference, compiled.place))
      }
    }
    return result
  }

  /// The text in one copy of the row's bytes; nil where a cell is empty, faulty or more than its bytes, or no ASCII, of
  /// which each cell is to be looked at by itself.
  private func plainText(_ compiled: CompiledText) -> String? {
    guard let row, let parts = compiled.plainParts else { return nil }
    scratch.bytes.removeAll(keepingCapacity: true)
    for part in parts {
      switch part {
      case .literal(let bytes): scratch.bytes += bytes
      case .cell(let index): guard row.append(index, to: &scratch.bytes) else { return nil }
      }
    }
    guard scratch.bytes.allSatisfy({ $0 < 0x80 }) else { return nil }
    return String(decoding: scratch.bytes, as: UTF8.self)
  }

  private func cell(_ index: Int, _ reference: InterpolatedText.Reference) throws(EntryFault) -> String {
    guard let row else { return "" }
    var raw: String
    do throws(ValueFault) {
      raw = try row.value(index)
      if dropsQueries { raw = URLRule.withoutQuery(raw) }
    } catch {
      throw EntryFault(message: error.message, hint: error.hint, place: .cell(index))
    }
    if raw.isEmpty, reference.fallback == nil {
      throw EntryFault(
        message: "`\(reference.name.text)` is empty in this row",
        hint: "fill it, or write `${\(reference.name.text)|default(x)}`",
        place: .cell(index), isEmptyCell: true)
    }
    if reference.filters.isEmpty { return raw }
    do throws(ValueFault) {
      return try reference.filtered(raw, what: reference.name.text)
    } catch {
      throw EntryFault(message: error.message, hint: error.hint, place: .cell(index))
    }
  }

  private func value(of reference: InterpolatedText.Reference, _ place: TextPlace) throws(EntryFault)
    -> String
  {
    let raw: String
    switch reference.name {
    case .runID, .runDate:
      if keepsRun { return "${\(reference.name.text)}" }
      raw = reference.name == .runID ? run.id : run.date
    case .uuid: raw = id.map(uuid) ?? ""
    case .source(let field): raw = source(field)
    case .column, .variable, .environment, .fact, .file, .id: raw = ""
    }
    do throws(ValueFault) {
      return try reference.filtered(raw, what: "`\(reference.name.text)`")
    } catch {
      throw EntryFault(message: error.message, hint: error.hint, place: row == nil ? .manifest(place) : .row)
    }
  }

  private func source(_ field: InterpolatedText.SourceField) -> String {
    let path = sourcePath ?? ""
    let name = RelativePath.baseName(path)
    // A name's first dot begins no extension: `.profile` is a stem.
    let dot = name.lastIndex(of: ".").flatMap { $0 == name.startIndex ? nil : $0 }
    switch field {
    case .path: return path
    case .name: return name
    case .stem: return dot.map { String(name[..<$0]) } ?? name
    case .ext: return dot.map { String(name[name.index(after: $0)...]) } ?? ""
    }
  }
}
