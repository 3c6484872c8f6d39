import JobLedger

/// Diagnostics as lines for people.
struct DiagnosticText {
  let paint: Paint

  /// `job.yaml:12:5: warning: message`, and the hint below it.
  func lines(_ diagnostic: RecordedDiagnostic) -> [String] {
    let severity =
      switch diagnostic.severity {
      case "error": paint.red("error")
      case "warning": paint.yellow("warning")
      default: diagnostic.severity
      }
    let place = diagnostic.place.map { DisplayText.safe($0) + ": " } ?? ""
    var lines = [place + severity + ": " + DisplayText.safe(Masking.text(diagnostic.message))]
    if let hint = diagnostic.hint { lines.append("  hint: " + DisplayText.safe(Masking.text(hint))) }
    return lines
  }
}
