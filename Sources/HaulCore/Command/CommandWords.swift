/// The words of the command line behind the program's name.
package enum CommandWords {
  private static let flags = ["--json", "--no-progress", "--quiet"]
  private static let options = ["--state-dir", "--log-level", "--log-format"]

  /// With the common options that stand before the command put behind it, where the parser looks for them.
  package static func ordered(_ words: [String]) -> [String] {
    var rest = words[...]
    while let word = rest.first, word.hasPrefix("--") {
      let name = String(word.prefix { $0 != "=" })
      if options.contains(name) {
        rest = rest.dropFirst(name == word ? 2 : 1)
      } else if flags.contains(word) {
        rest = rest.dropFirst()
      } else {
        return words
      }
    }
    guard let command = rest.first else { return words }
    return [command] + words[..<rest.startIndex] + rest.dropFirst()
  }
}
