/// Colours words, where the caller says that somebody sees colours.
package struct Paint: Sendable {
  package var isOn: Bool

  package init(isOn: Bool) { self.isOn = isOn }

  package func red(_ text: String) -> String { wrap(text, "31") }
  package func green(_ text: String) -> String { wrap(text, "32") }
  package func yellow(_ text: String) -> String { wrap(text, "33") }
  package func faint(_ text: String) -> String { wrap(text, "2") }
  package func bold(_ text: String) -> String { wrap(text, "1") }

  /// SGR (ECMA-48, 8.3.117).
  private func wrap(_ text: String, _ code: String) -> String {
    isOn ? "\u{1b}[\(code)m\(text)\u{1b}[0m" : text
  }
}
