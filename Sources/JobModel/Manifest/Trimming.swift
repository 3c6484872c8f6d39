extension StringProtocol {
  /// Without the characters at both ends that are to be cut.
  package func trimmed(_ isCut: (Character) -> Bool) -> String {
    guard let first = firstIndex(where: { !isCut($0) }), let last = lastIndex(where: { !isCut($0) }) else {
      return ""
    }
    return String(self[first...last])
  }
}
