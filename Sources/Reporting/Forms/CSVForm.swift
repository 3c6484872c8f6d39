import JobModel

/// `csv` (RFC 4180): a transfer a row, a column for each member of `haul.report/v1`, named by its JSON path.
struct CSVForm: FormWriter {
  /// In the order of the report. A list is one cell.
  static let columns =
    [
      "id", "direction", "state", "reason", "resumes_at", "session", "source", "destination", "url",
      "protocol",
      "remote_id", "version", "etag", "content_type", "size", "chunk_size", "chunks.total",
      "chunks.completed",
      "chunks.reused", "contiguous_bytes", "bytes.transferred", "bytes.reused", "bytes.discarded",
    ] + DigestAlgorithm.allCases.map { "digests." + $0.rawValue } + [
      "verification", "attached.state", "attached.status", "attached.at", "attached.key", "attached.tries",
      "moved_because", "policy.name", "policy.ref", "capabilities", "attempts", "retries",
      "requests", "max_chunk_attempts", "last_http_status", "created_at", "updated_at", "started_at",
      "ended_at",
      "duration_s", "preserved", "lost", "copied_by", "source_facts.version", "source_facts.etag",
    ] + DigestAlgorithm.allCases.map { "source_facts.digests." + $0.rawValue } + [
      "error.code", "error.message", "error.hint", "error.retryable", "error.http_status",
      "error.chunk", "error.expected", "error.actual", "error.at",
    ]

  private static let places = Dictionary(
    uniqueKeysWithValues: columns.enumerated().map { ($0.element, $0.offset) })

  func write(_ report: any Report, to sink: @escaping ByteSink) throws {
    let out = BlockSink(sink)
    try out.add(Self.columns.joined(separator: ",") + "\r\n")
    var cells: [String] = []
    _ = try report.transfers(.every) { transfer in
      cells = Array(repeating: "", count: Self.columns.count)
      Self.fill(&cells, transfer, "")
      try out.add(cells.joined(separator: ",") + "\r\n")
    }
    try out.flush()
  }

  private static func fill(_ cells: inout [String], _ value: JSON, _ path: String) {
    for member in value.members ?? [] {
      let name = path.isEmpty ? member.name : path + "." + member.name
      if case .object = member.value {
        fill(&cells, member.value, name)
      } else if let place = places[name] {
        cells[place] = cell(member.value)
      }
    }
  }

  private static func cell(_ value: JSON) -> String {
    switch value {
    case .null: ""
    case .bool, .integer, .number, .exact: value.text
    case .string(let text): quoted(disarmed(text))
    case .array(let items): quoted(disarmed(items.map(words).joined(separator: "; ")))
    case .object: ""
    }
  }

  /// An item of a list: `sha256/server/match`.
  private static func words(_ item: JSON) -> String {
    item.string ?? item.members?.map { words($0.value) }.joined(separator: "/") ?? item.text
  }

  /// A text that a spreadsheet would run as a formula gets a `'` before it (OWASP, CSV injection): at its start, and behind what
  /// ends a cell where the file is opened with another separator than the comma.
  private static func disarmed(_ text: String) -> String {
    guard let first = text.unicodeScalars.first else { return text }
    let mayBegin = first == " " || first == "\"" || formulaStarts.contains(first)
    guard mayBegin || text.utf8.contains(where: endsCell) else { return text }
    var out = ["\t", "\r", "\n"].contains(first) ? "'" : ""
    var isAtStart = true
    for scalar in text.unicodeScalars {
      if isAtStart, formulaStarts.contains(scalar) { out += "'" }
      out.unicodeScalars.append(scalar)
      // Blanks and quotes before a formula are dropped by some readers.
      isAtStart =
        scalar.isASCII && endsCell(UInt8(scalar.value)) || isAtStart && (scalar == " " || scalar == "\"")
    }
    return out
  }

  private static func endsCell(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: ";"), UInt8(ascii: "|"), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"):
      true
    default: false
    }
  }

  /// The last four are full-width forms of the first four, which spreadsheets read alike.
  private static let formulaStarts = Set("=+-@\u{FF1D}\u{FF0B}\u{FF0D}\u{FF20}".unicodeScalars)

  private static func quoted(_ text: String) -> String {
    let needsQuotes = text.utf8.contains {
      $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "\"") || $0 < 0x20
    }
    guard needsQuotes else { return text }
    // Many readers end a text at a NUL.
    return "\"" + text.escaping(["\"": "\"\"", "\0": "\u{FFFD}"]) + "\""
  }
}
