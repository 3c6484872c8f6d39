internal import JobModel

/// A text whose columns are numbers, so that putting a row in looks nothing up.
struct CompiledText {
  enum Part {
    case literal(String)
    case cell(Int, InterpolatedText.Reference)
    case reference(InterpolatedText.Reference)
  }

  /// A part that is put in as it stands.
  enum PlainPart {
    case literal([UInt8])
    case cell(Int)
  }

  let parts: [Part]
  /// Nil where a part is more than that.
  let plainParts: [PlainPart]?
  let place: TextPlace
  /// The first column that it uses: where a fault of the result is marked.
  let firstCell: Int?
  let usesRun: Bool
  let usesSource: Bool
  /// The whole text where no entry and no run has a part in it.
  let constant: String?
  /// Whether an entry has a part in it.
  let isOfEntry: Bool

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
    let plain = parts.compactMap { part -> PlainPart? in
      switch part {
      case .literal(let text): .literal(Array(text.utf8))
      case .cell(let index, let reference): reference.filters.isEmpty ? .cell(index) : nil
      case .reference: nil
      }
    }
    plainParts = plain.count == parts.count ? plain : nil
    place = TextPlace(text)
    usesSource = text.text.references.contains { reference in
      if case .source = reference.name { true } else { false }
    }
    usesRun = text.text.references.contains { $0.name == .runID || $0.name == .runDate }
    constant = text.text.literal
    isOfEntry = usesSource || firstCell != nil
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
  /// What it is where a listing's name is at fault, and not the manifest.
  var obstacle: PlacementObstacle?

  static func undeclared(_ endpoint: String, at place: Place) -> EntryFault {
    EntryFault(
      message: "the endpoint `\(endpoint)` is not declared",
      hint: "declare it under `endpoints`; a file of that name is written with `./` before it", place: place)
  }
}
