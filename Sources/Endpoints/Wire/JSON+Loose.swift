import JobModel

/// Members as servers in different languages write them: an id as a number, a number as text.
extension JSON {
  /// An id: text that is not empty, or a whole number's digits.
  var id: String? {
    switch self {
    case .string(let text): text.isEmpty ? nil : text
    case .integer(let number): String(number)
    case .null, .bool, .number, .exact, .array, .object: nil
    }
  }

  /// A whole number, or text that is one.
  var wholeNumber: Int64? { int64 ?? string.flatMap { Int64($0) } }
}
