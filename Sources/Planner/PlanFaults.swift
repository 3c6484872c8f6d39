internal import JobModel

/// Collects diagnostics of an expansion: the first hundred of each severity, then a count.
final class PlanFaults {
  private static let limit = 100
  private var kept: [Diagnostic] = []
  private(set) var errorCount = 0
  private var warningCount = 0

  func add(_ diagnostic: Diagnostic) {
    let isError = diagnostic.severity == .error
    if isError { errorCount += 1 } else { warningCount += 1 }
    if (isError ? errorCount : warningCount) <= Self.limit { kept.append(diagnostic) }
  }

  func error(_ message: String, at place: TextPlace, hint: String? = nil, cause: Diagnostic.Cause = .manifest)
  {
    add(Diagnostic(.error, message, at: place.mark, lineText: place.lineText, hint: hint, cause: cause))
  }

  func warning(_ message: String, at place: TextPlace, hint: String? = nil) {
    add(Diagnostic(.warning, message, at: place.mark, lineText: place.lineText, hint: hint))
  }

  var diagnostics: [Diagnostic] {
    var result = kept
    if errorCount > Self.limit {
      result.append(Diagnostic(.error, "\(errorCount - Self.limit) more errors like these"))
    }
    if warningCount > Self.limit {
      result.append(Diagnostic(.warning, "\(warningCount - Self.limit) more warnings like these"))
    }
    return result
  }
}

/// A place with its line.
struct TextPlace {
  var mark: SourceMark
  var lineText: String?

  init(mark: SourceMark, lineText: String?) {
    self.mark = mark
    self.lineText = lineText
  }

  init(_ text: MarkedText) {
    self.init(mark: text.mark, lineText: text.lineText)
  }
}

/// Where the id and the destination of the entry at hand come from, worked out only for a fault.
protocol EntryPlaces {
  var id: TextPlace { get }
  var destination: TextPlace { get }
  /// What to do where another entry has the id.
  var idHint: String { get }
  /// Whether a row gives what the entry needs.
  var haveRowNeeds: Bool { get }
  /// Whether a store's listing named the entry.
  var areListed: Bool { get }
}
