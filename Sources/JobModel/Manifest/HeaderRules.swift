/// What HTTP allows in a header field (RFC 9110, 5.1 and 5.5).
extension HeaderSetting {
  package static func isTokenCharacter(_ character: Character) -> Bool {
    character.isASCII && (character.isLetter || character.isNumber || "!#$%&'*+-.^_`|~".contains(character))
  }

  package static func isToken(_ name: String) -> Bool {
    !name.isEmpty && name.allSatisfy(isTokenCharacter)
  }

  /// No line end that would begin another header, and no other control character but a tab.
  package static func isSafe(value: String) -> Bool {
    value.unicodeScalars.allSatisfy { ($0.value >= 0x20 && $0.value != 0x7F) || $0 == "\t" }
  }

  /// - Throws: where a value can't be sent.
  @Sendable package static func checked(value: String) throws(ValueFault) -> String {
    guard isSafe(value: value) else {
      throw ValueFault(
        "a header's value has no line ends or control characters", hint: "write it on one line")
    }
    return value
  }

  /// Lays headers over others: one of the same name, in any case, is replaced.
  package static func overlay(_ upper: [HeaderSetting], over lower: [HeaderSetting]) -> [HeaderSetting] {
    let names = Set(upper.map { $0.name.lowercased() })
    return lower.filter { !names.contains($0.name.lowercased()) } + upper
  }
}
