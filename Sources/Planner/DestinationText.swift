internal import Endpoints
internal import JobModel

/// The text of `to` for one entry, on its way to a place.
struct DestinationText {
  private let kind: PlaceTemplate.Kind
  private let direction: Verb
  private let compiled: CompiledText
  private let context: PlanContext
  /// Bytes of the part that no row and no found file has a say in, up to its last `/`.
  private let fixedBytes: Int

  init(template: TransferTemplate, compiled: CompiledText, context: PlanContext) {
    kind = template.destination.kind
    direction = template.direction
    self.compiled = compiled
    self.context = context
    if case .literal(let prefix)? = compiled.parts.first, let slash = prefix.utf8.lastIndex(of: 0x2F) {
      fixedBytes = prefix.utf8.distance(from: prefix.utf8.startIndex, to: slash) + 1
    } else {
      fixedBytes = 0
    }
  }

  func text(_ values: EntryValues) throws(EntryFault) -> String { try values.text(compiled) }

  /// What a row without a key is known by: its destination, tidied, without a query.
  func known(_ text: String) -> String {
    switch kind {
    case .local: return RelativePath.relative(text, to: context.job.directory)
    case .remote(let name): return "\(name):\(text)"
    case .url: return Places.withoutQuery(.url(text))
    case .undecided:
      let isURL = PlaceTemplate.kind(of: text, isWhole: true) == .url
      return isURL ? Places.withoutQuery(.url(text)) : text
    }
  }

  /// `below`: the path of a found file below its fixed part, which a folder as destination keeps.
  func place(_ text: String, source: Place, below: String?) throws(EntryFault) -> (
    place: Place, takesName: Bool
  ) {
    let place = try Places.decide(kind, text, context, at: Places.of(compiled))
    switch place {
    case .local(let path):
      try refuseClimbing(path)
      let normal = RelativePath.relative(path, to: context.job.directory)
      guard RelativePath.namesFolder(normal) else { return (.local(try named(normal)), false) }
      if let below {
        // Not a way to the root: an object's key may begin with a slash.
        let below = String(Substring(below.utf8.drop { $0 == 0x2F }))
        try refuseClimbing(below: below)
        return (.local(try named(RelativePath.normalize(normal + below))), false)
      }
      return (.local(normal), true)
    case .remote(let name, let path):
      try refuseClimbing(path)
      guard path.utf8.last ?? 0x2F == 0x2F else { return (place, false) }
      // A web server would follow a store's odd key out of the prefix.
      if direction == .copy, let below {
        try refuseClimbing(below: String(Substring(below.utf8.drop { $0 == 0x2F })))
      }
      return (.remote(endpoint: name, path: path + kept(source, below)), false)
    case .url(let url):
      if url.utf8.count > fixedBytes { try refuseClimbing(Places.withoutQuery(place), isURL: true) }
      guard url.hasSuffix("/") else { return (place, false) }
      return (.url(url + PercentEncoding.encode(kept(source, below), keeping: Self.isPathByte)), false)
    }
  }

  /// A path that may be a download's: neither a folder's nor that of a part file of haul's own.
  private func named(_ path: String) throws(EntryFault) -> String {
    guard direction == .download else { return path }
    if path.utf8.contains(0) {
      throw EntryFault(
        message: "the path holds a NUL byte", hint: "no file's name can", place: Places.of(compiled),
        obstacle: .nul)
    }
    if RelativePath.namesFolder(path) {
      throw EntryFault(
        message: "the destination `\(path)` names no file", place: Places.of(compiled), obstacle: .unnamed)
    }
    guard !PartPattern.matches(path) else {
      throw EntryFault(
        message: PartPattern.refusal(RelativePath.baseName(path)), hint: "give the file another name",
        place: Places.of(compiled), obstacle: .partFile)
    }
    return path
  }

  /// Where what can't be placed is told to go: below the fixed part, its name encoded.
  func told(_ below: String) -> Place {
    let fixed = compiled.parts.first.flatMap { part in
      if case .literal(let text) = part { String(Substring(text.utf8.prefix(fixedBytes))) } else { nil }
    }
    let name = PercentEncoding.encode(below) { PercentEncoding.isIDByte($0) && $0 != 0x2F }
    if case .remote(let endpoint) = kind { return .remote(endpoint: endpoint, path: (fixed ?? "") + name) }
    return .local(RelativePath.relative(fixed ?? "", to: context.job.directory) + name)
  }

  private func kept(_ source: Place, _ below: String?) -> String {
    below ?? RelativePath.baseName(source.isLocal ? source.text : Places.sourcePath(source))
  }

  private static func isPathByte(_ byte: UInt8) -> Bool {
    PercentEncoding.isIDByte(byte) || byte == 0x7E
  }

  private func refuseClimbing(_ path: String, isURL: Bool = false) throws(EntryFault) {
    guard compiled.isOfEntry else { return }
    // `https://host/`: what a row gives may not begin before the path.
    let fixed = isURL ? max(fixedBytes, 8) : fixedBytes
    guard RelativePath.climbs(path, afterBytes: min(fixed, path.utf8.count), isEncoded: isURL) else { return }
    throw climbing(path)
  }

  private func refuseClimbing(below: String) throws(EntryFault) {
    if RelativePath.climbs(below, afterBytes: 0) { throw climbing(below) }
  }

  private func climbing(_ path: String) -> EntryFault {
    EntryFault(
      message: "the destination `\(Masked.text(path))` climbs above the fixed part of `to`",
      hint: "what a row or a name gives may not hold `..` that leads out, nor begin with `/`",
      place: Places.of(compiled), obstacle: .climbs)
  }

  func refuseState(_ place: Place) throws(EntryFault) {
    guard direction == .download, case .local(let path) = place, context.liesInState(path) else { return }
    let (message, hint) = StateFolders.refusal(path)
    throw EntryFault(message: message, hint: hint, place: Places.of(compiled))
  }

  func confine(_ place: Place, allowsOutside: Bool) throws(EntryFault) {
    guard !allowsOutside, direction == .download, case .local(let path) = place else { return }
    guard RelativePath.escapes(path) else {
      guard context.links.isEscaping(path) else { return }
      throw EntryFault(
        message: "the destination `\(path)` is a symbolic link out of the manifest's folder",
        hint: "remove the link, or write `allow_outside: true` if this is meant", place: Places.of(compiled))
    }
    throw EntryFault(
      message: "the destination `\(path)` lies outside of the manifest's folder",
      hint: "write a path below it, or `allow_outside: true` if this is meant", place: Places.of(compiled))
  }
}
