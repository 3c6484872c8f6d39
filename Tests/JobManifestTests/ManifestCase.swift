import Endpoints
import JobManifest
import JobModel
import Testing

/// A broken manifest: `▶` stands at the place that the fault must be marked at, and is no part of the text.
struct Broken: CustomTestStringConvertible {
  var text: String
  var message: String
  var testDescription: String { message }

  var marked: String { Self.frame(text) }

  /// A text that is no whole manifest is put below the usual head.
  static func frame(_ text: String) -> String {
    if text.hasPrefix("!") { return String(text.dropFirst(2)) }
    if text.hasPrefix("  -") { return head + "transfers:\n" + text + "\n" }
    return head + text + "\ntransfers:\n" + plain + "\n"
  }

  static let head = """
    version: 1
    job: test
    vars: { set: "1" }
    endpoints:
      depot: { type: session, url: "https://files.example.net/api" }
      web: { type: http, url: "https://www.example.net" }

    """
  static let plain = "  - { id: a, download: depot:x, to: x }"

  /// The marker's line and column, 1-based.
  var place: (line: Int, column: Int) {
    var line = 1
    var column = 1
    for scalar in marked.unicodeScalars {
      if scalar == "▶" { break }
      if scalar == "\n" {
        line += 1
        column = 1
      } else {
        column += 1
      }
    }
    return (line, column)
  }
}

func read(_ text: String, overrides: [String: String] = [:]) -> ManifestResult {
  ManifestReader.read(
    text.replacing("▶", with: ""), path: "job.yaml", directory: "/srv/job", overrides: overrides,
    environment: { ["HOME": "/home/u", "EMPTY": ""][$0] })
}
