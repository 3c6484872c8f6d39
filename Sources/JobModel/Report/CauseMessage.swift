/// A message without what names one transfer: ids, paths, numbers and digests become `…`; hosts, ports and HTTP
/// statuses stay. Messages that are alike then have one cause.
package enum CauseMessage {
  /// - Parameter id: the transfer's, where it is known.
  package static func general(_ message: String, id: String? = nil) -> String {
    var writer = CauseWriter(id: Array((id ?? "").utf8))
    writer.add(Array(message.utf8)[...])
    return String(decoding: writer.text, as: UTF8.self)
  }
}

/// Works on bytes: of a large plan each transfer's failure comes here, and what is looked for is ASCII.
private struct CauseWriter {
  private(set) var text: [UInt8] = []
  private let id: ArraySlice<UInt8>
  /// What the id ends in.
  private let name: ArraySlice<UInt8>
  /// The HTTP status that the message has named.
  private var status: ArraySlice<UInt8>?

  init(id: [UInt8]) {
    self.id = id[...]
    name = id.split(separator: UInt8(ascii: "/")).last ?? id[...]
  }

  mutating func add(_ message: ArraySlice<UInt8>) {
    // What stands between backticks is one word, blanks included.
    let tick = UInt8(ascii: "`")
    let parts = message.split(separator: tick, omittingEmptySubsequences: false)
    guard parts.count % 2 == 1 else { return addWords(message) }
    for (index, part) in parts.enumerated() {
      guard index % 2 == 1 else {
        addWords(part)
        continue
      }
      text.append(tick)
      let isPath = part.contains(UInt8(ascii: "/")) && Self.authority(of: part) == nil
      if isPath || isName(part) { addGap() } else { addWord(part, after: []) }
      text.append(tick)
    }
  }

  private mutating func addWords(_ words: ArraySlice<UInt8>) {
    let blank = UInt8(ascii: " ")
    var before: ArraySlice<UInt8> = []
    for (index, piece) in words.split(separator: blank, omittingEmptySubsequences: false).enumerated() {
      if index > 0 { text.append(blank) }
      let core = piece.drop { "([\"'".utf8.contains($0) }
      var inner = core
      while let last = inner.last, ")],.;:\"'".utf8.contains(last) { inner = inner.dropLast() }
      text += piece[..<core.startIndex]
      addWord(inner, after: before)
      text += piece[inner.endIndex...]
      before = inner
    }
  }

  private mutating func addWord(_ word: ArraySlice<UInt8>, after before: ArraySlice<UInt8>) {
    if let authority = Self.authority(of: word) {
      text += word[..<authority.endIndex]
      if authority.endIndex < word.endIndex {
        text.append(UInt8(ascii: "/"))
        addGap()
      }
      return
    }
    guard !word.isEmpty else { return }
    let isNumber = word.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
    let isStatus = isNumber && before.elementsEqual("HTTP".utf8)
    if isStatus { status = word }
    // Also where a transfer is called so. Many servers' answers begin with the status once more.
    let isKept = isStatus || isNumber && (before.elementsEqual("port".utf8) || word == status)
    let isDigest = word.count >= 16 && word.allSatisfy { $0.isLowerHexDigit }
    let isPath = word.contains(UInt8(ascii: "/")) && !Self.isMediaType(word)
    if !isKept, isNumber || isDigest || isPath || isName(word) { addGap() } else { text += word }
  }

  private mutating func addGap() { text += "…".utf8 }

  private func isName(_ word: ArraySlice<UInt8>) -> Bool {
    !word.isEmpty && (word == id || word == name)
  }

  /// What follows the scheme of a URL, up to its path; nil where it is none.
  private static func authority(of word: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    var rest = word
    while let colon = rest.firstIndex(of: UInt8(ascii: ":")) {
      rest = rest[(colon + 1)...]
      if rest.starts(with: "//".utf8) { return rest.dropFirst(2).prefix { !"/?#".utf8.contains($0) } }
    }
    return nil
  }

  private static func isMediaType(_ word: ArraySlice<UInt8>) -> Bool {
    let parts = word.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    let trees = ["application", "audio", "font", "image", "message", "model", "multipart", "text", "video"]
    return parts.count == 2 && trees.contains(String(decoding: parts[0], as: UTF8.self))
  }
}
