internal import JobModel

/// A text whose columns are numbers, so that putting a row in looks nothing up.
struct CompiledText {
  enum Part {
    case literal(String)
    case cell(Int, InterpolatedText.Reference)
    case reference(InterpolatedText.Reference)
  }

  let parts: [Part]
  let place: TextPlace
  /// The first column that it uses: where a fault of the result is marked.
  let firstCell: Int?
  let usesRun: Bool
  let usesSource: Bool

  init(_ text: MarkedText, columns: [String]) {
    var firstCell: Int?
    parts = text.text.parts.map { part in
      switch part {
      case .literal(let literal): return .literal(literal)
      case .reference(let reference):
        if case .column(let name) = reference.name, let index = columns.firstIndex(of: name) {
          firstCell = firstCell ?? index
          return .cell(index, reference)
        }
        return .reference(reference)
      }
    }
    self.firstCell = firstCell
    place = TextPlace(text)
    usesSource = text.text.references.contains { reference in
      if case .source = reference.name { true } else { false }
    }
    usesRun = text.text.references.contains { $0.name == .runID || $0.name == .runDate }
  }

  /// The whole text where no entry and no run has a part in it.
  var constant: String? {
    switch parts.count {
    case 0: ""
    case 1: if case .literal(let text) = parts[0] { text } else { nil }
    default: nil
    }
  }
}

/// What is wrong with one entry, and where.
struct EntryFault: Error {
  enum Place {
    /// In the row, at the cell of this number.
    case cell(Int)
    case row
    case manifest(TextPlace)
  }
  var message: String
  var hint: String?
  var place: Place
  var isEmptyCell = false
}
