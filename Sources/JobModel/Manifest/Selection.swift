/// What of a job's transfers a run is asked for alone.
package enum Selection: Sendable, Hashable {
  /// `--only`: an id, what lies below it, or a glob of ids.
  case only(IDPattern)
  /// `--only-from`: ids from a list with this SHA-256, in hex.
  case ids(sha256: String)
  /// `--failed`: what did not complete the last time.
  case failed

  private static let failedWord = ":failed"
  private static let idsWord = ":ids:"

  /// As the ledger keeps it: a pattern's text, or a word that begins with `:`, which no id has in it.
  package var recorded: String {
    switch self {
    case .only(let pattern): pattern.text
    case .ids(let sha256): Self.idsWord + sha256
    case .failed: Self.failedWord
    }
  }

  /// - Throws: `ValueFault` where a pattern can't be read.
  package init(recorded text: String) throws(ValueFault) {
    if text == Self.failedWord {
      self = .failed
    } else if text.hasPrefix(Self.idsWord) {
      self = .ids(sha256: String(text.dropFirst(Self.idsWord.count)))
    } else {
      self = .only(try IDPattern(text))
    }
  }

  /// The text of `--only`.
  package var pattern: String? { if case .only(let pattern) = self { pattern.text } else { nil } }

  /// Of the list of `--only-from`, in hex.
  package var listSHA256: String? { if case .ids(let sha256) = self { sha256 } else { nil } }

  /// As reports name it.
  package var kind: String {
    switch self {
    case .only: "only"
    case .ids: "only_from"
    case .failed: "failed"
    }
  }
}

/// An id, what lies below it, or a glob of ids.
package struct IDPattern: Sendable, Hashable {
  package let text: String
  private let pattern: GlobPattern

  package init(_ text: String) throws(ValueFault) {
    self.text = text
    pattern = try GlobPattern(text)
  }

  package func includes(_ id: String) -> Bool {
    pattern.matches(id) || (pattern.isLiteral && id.hasPrefix(GlobPattern.unescape(text) + "/"))
  }
}
