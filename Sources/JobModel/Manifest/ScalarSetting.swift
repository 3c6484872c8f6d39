/// The settings of a transfer that are one scalar, so that a row of a fan-out may give them too.
package enum ScalarSetting: String, Sendable, Hashable, CaseIterable {
  case chunkSize = "chunk_size"
  case verify
  case contentType = "content_type"
  case refresh
  case ifExists = "if_exists"
  case mode
  case mtime
  case snapshot
  case storageClass = "storage_class"
  case enabled
  case allowsOutside = "allow_outside"

  /// The verbs that the setting is for.
  package var verbs: [Verb] {
    switch self {
    case .mode, .mtime: [.download]
    case .contentType, .storageClass: [.upload, .copy]
    case .snapshot: [.upload]
    case .chunkSize, .verify, .refresh, .ifExists, .enabled, .allowsOutside: Verb.allCases
    }
  }

  package func apply(_ text: String, to settings: inout TransferSettings) throws(ValueFault) {
    switch self {
    case .chunkSize: settings.chunkSize = try Self.chunkSize(text)
    case .verify: settings.verify = try Self.choice(text)
    case .contentType: settings.contentType = try Self.mediaType(text)
    case .refresh: settings.refresh = try Self.choice(text)
    case .ifExists: settings.ifExists = try Self.choice(text)
    case .mode: settings.mode = try Self.mode(text)
    case .mtime: settings.keepsSourceTime = try Self.keepsSourceTime(text)
    case .snapshot: settings.snapshot = try Self.choice(text)
    case .storageClass:
      if let fault = AttributeTemplate.fault(.storageClass, "", text) { throw fault }
      settings.given.storageClass = text
    case .enabled: settings.isEnabled = try Self.bool(text)
    case .allowsOutside: settings.allowsOutside = try Self.bool(text)
    }
  }

  package static func bool(_ text: String) throws(ValueFault) -> Bool {
    switch text {
    case "true": return true
    case "false": return false
    default: throw ValueFault("`\(text)` is not a boolean", hint: "write `true` or `false`")
    }
  }

  package static func choice<Choice: RawRepresentable<String> & CaseIterable>(
    _ text: String
  ) throws(ValueFault) -> Choice {
    if let choice = Choice(rawValue: text) { return choice }
    let words = Choice.allCases.map { "`\($0.rawValue)`" }
    let near = NearMiss.of(text, among: Choice.allCases.map(\.rawValue))
    let all = words.count == 1 ? "it is \(words[0])" : "one of \(words.joined(separator: ", "))"
    throw ValueFault("`\(text)` is not known here", hint: near.map { "did you mean `\($0)`?" } ?? all)
  }

  private static func chunkSize(_ text: String) throws(ValueFault) -> ChunkSize {
    if text == "auto" { return .auto }
    let bytes: Int64
    do {
      bytes = try Units.size(text)
    } catch {
      throw ValueFault(error.message, hint: (error.hint ?? "write a size") + "; or `auto`")
    }
    guard bytes >= 1 else { throw ValueFault("a chunk has at least 1 byte", hint: "like `8MiB`, or `auto`") }
    return .bytes(bytes)
  }

  private static func mode(_ text: String) throws(ValueFault) -> UInt16 {
    let digits = text.hasPrefix("0o") ? text.dropFirst(2) : text[...]
    guard (1...5).contains(digits.count), digits.allSatisfy({ ("0"..."7").contains($0) }),
      let bits = UInt16(digits, radix: 8), bits <= 0o7777
    else { throw ValueFault("`\(text)` is not a file mode", hint: "write it in octal, like \"0644\"") }
    return bits
  }

  private static func keepsSourceTime(_ text: String) throws(ValueFault) -> Bool {
    switch text {
    case "source": return true
    case "now": return false
    default: throw ValueFault("`\(text)` is not known here", hint: "write `source`, or leave it out for now")
    }
  }

  private static func mediaType(_ text: String) throws(ValueFault) -> String {
    let essence = text.split(separator: ";", maxSplits: 1, omittingEmptySubsequences: false)[0]
    let parts = essence.split(separator: "/", omittingEmptySubsequences: false)
    let isToken = { (part: Substring) in
      let trimmed = part.reversed().drop { $0 == " " }
      return !trimmed.isEmpty && trimmed.allSatisfy { HeaderSetting.isTokenCharacter($0) }
    }
    guard parts.count == 2, parts.allSatisfy(isToken), HeaderSetting.isSafe(value: text) else {
      throw ValueFault("`\(text)` is not a media type", hint: "like `application/pdf`")
    }
    return text
  }
}
