import JobLedger
import JobModel

/// Says before anything moves which uploads under way have lost their sources: those have to be provided again.
enum MissingSources {
  /// Names of files that are spelled out; the rest is counted.
  private static let named = 10

  static func tell(_ context: EngineContext, scope: Scope?) throws {
    var missing = 0
    var names: [String] = []
    var last: Int64 = 0
    while true {
      let page = try context.ledger.openUploads(after: last, limit: 256)
      guard let end = page.last else { break }
      last = end.seq
      for transfer in page where scope?.includes(transfer.id) ?? true {
        // A private copy was taken where `snapshot` asks for one: that is what goes on.
        guard transfer.settings.direction == .upload, transfer.settings.snapshot == .none,
          let path = transfer.source.localPath,
          (try? OpenFile.reading(path.hasPrefix("/") ? path : context.folder.path + "/" + path)) == nil
        else { continue }
        missing += 1
        if names.count < named { names.append("`\(path)`") }
      }
    }
    guard missing > 0 else { return }
    let rest = missing > names.count ? " and \(missing - names.count) more" : ""
    let diagnostic = Diagnostic(
      .warning,
      "\(missing) \(missing == 1 ? "upload that has begun has" : "uploads that have begun have") no source any more: \(names.joined(separator: ", "))\(rest)",
      hint: "put the files back and run again: what was sent of them is kept")
    context.writer.submit(.diagnostic(run: context.run, diagnostic))
    context.events(.diagnostic(diagnostic))
  }
}
