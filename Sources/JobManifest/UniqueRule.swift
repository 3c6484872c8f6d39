internal import JobModel
internal import ManifestFields

/// No two transfers with one id or one destination, as far as the manifest alone tells.
enum UniqueRule {
  /// The templates without those that repeat an earlier one.
  static func check(
    _ templates: [TransferTemplate], ids: [(id: String, mark: SourceMark)], claims: [DestinationClaim],
    scope: Scope
  ) -> [TransferTemplate] {
    var firstIDs: [String: SourceMark] = [:]
    var repeated: Set<SourceMark> = []
    for item in ids {
      guard let first = firstIDs[item.id] else {
        firstIDs[item.id] = item.mark
        continue
      }
      repeated.insert(item.mark)
      scope.faults.error(
        "the id `\(item.id)` is taken by the transfer at line \(first.line)", at: item.mark,
        hint: "give it another id")
    }
    var destinations: [ByteText: (mark: SourceMark, id: String)] = [:]
    for claim in claims {
      guard let destination = text(of: claim, scope: scope) else { continue }
      let mark = claim.destination.text.mark
      if let first = destinations[ByteText(destination)] {
        repeated.insert(claim.mark)
        scope.faults.error(
          "`\(destination)` is the destination of `\(first.id)` at line \(first.mark.line) too",
          at: mark,
          hint: "give one of them another `to`")
      } else {
        destinations[ByteText(destination)] = (mark, claim.id)
      }
    }
    return templates.filter { !repeated.contains($0.mark) }
  }

  private static func text(of claim: DestinationClaim, scope: Scope) -> String? {
    let text = claim.destination.text.text
    if text.references.contains(where: { $0.name == .uuid }) { return nil }
    var written = text.written
    if case .local = claim.destination.kind {
      written = RelativePath.relative(written, to: scope.directory)
    }
    if RelativePath.namesFolder(written) {
      guard claim.direction.writesRemote else { return nil }
      written += RelativePath.baseName(claim.source.text.text.written)
    }
    switch claim.destination.kind {
    case .remote(let name): return "\(name):\(written)"
    case .local, .url: return written
    case .undecided: return nil
    }
  }
}
