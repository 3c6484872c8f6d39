import JobModel

/// `--set NAME=VALUE`.
package enum Overrides {
  package static func parse(_ texts: [String]) throws -> [String: String] {
    var found: [String: String] = [:]
    for text in texts {
      let pair = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard pair.count == 2, !pair[0].isEmpty else {
        throw End(.usage, "`--set \(text)`: write `--set NAME=VALUE`")
      }
      found[String(pair[0])] = String(pair[1])
    }
    return found
  }
}
