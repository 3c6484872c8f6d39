import Digests
import Endpoints
import Glibc
import JobManifest
import JobModel
import Posix

/// Digests of everything that a plan is compiled from.
struct PlanFingerprint {
  /// Where the plan at hand has the same one, compiling again would change nothing, and a million rows are not read. Nil
  /// where a file was written so lately that it may change again unseen.
  let whole: String?
  /// The same without the files of rows, where a row that is as it was is the transfer that it was, whatever others say.
  let rows: String?

  /// A file that changed less than this before it was read may change again within one tick of its clock, unseen;
  /// in seconds.
  private static let clockTick = 0.1

  /// Nil where the plan depends on what can't be told without looking at it: globs, listings, local sources.
  static func of(
    _ job: Job, file: ManifestFile, read: ManifestResult, overrides: [String: String], run: RunValues,
    shard: Shard? = nil
  ) -> PlanFingerprint? {
    guard read.diagnostics.isEmpty else { return nil }
    // However the path is spelled: cron gives another one than a person in the folder.
    let folder = spelled(job.directory)
    var parts = [
      ToolVersion.current, identity("/proc/self/exe") ?? "", file.sha256, spelled(job.manifestPath), folder,
    ]
    if let shard { parts.append(shard.text) }
    for file in read.imports {
      guard let sha256 = try? Digest.hex(of: file.bytes, .sha256) else { return nil }
      parts += [spelled(file.path), sha256]
    }
    parts += pairs(overrides) + pairs(read.environment)
    var files: [String]? = []
    for template in job.templates {
      guard template.direction.readsRemote else { return nil }
      switch template.fanOut {
      case .single: break
      case .glob, .prefix: return nil
      case .rows(let source, _):
        let path = RelativePath.absolute(source.path, in: folder)
        parts.append(path)
        if let rows = identity(path, settled: true) { files?.append(rows) } else { files = nil }
        if source.filter.bounds?.countsBack == true { parts.append("\(run.startedAt)") }
      }
      if usesRun(template) { parts += [run.id, run.date] }
    }
    func digest(_ parts: [String]) -> String? {
      try? Digest.hex(of: Array(parts.joined(separator: "\0").utf8), .sha256)
    }
    return PlanFingerprint(
      whole: files.flatMap { digest(parts + $0) },
      rows: shard == nil && job.templates.allSatisfy(isByRow) ? digest(["rows"] + parts) : nil)
  }

  private static func spelled(_ path: String) -> String {
    let path = RelativePath.tidy(Paths.absolute(path))
    return path.utf8.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
  }

  /// Whether each of its transfers follows from its own row alone.
  private static func isByRow(_ template: TransferTemplate) -> Bool {
    guard case .rows(let source, _) = template.fanOut else { return template.needs.isEmpty }
    return template.needs.isEmpty && source.format != .inventory && source.filter.bounds == nil
  }

  private static func usesRun(_ template: TransferTemplate) -> Bool {
    var texts = [template.source.text, template.destination.text] + template.needs
    texts += template.expect.values + template.rowSettings.map(\.value) + template.attributes.map(\.value)
    if case .rows(let source, _) = template.fanOut, let key = source.key { texts.append(key) }
    texts += template.headers.compactMap(\.text)
    return texts.contains { text in
      text.text.references.contains { $0.name == .runID || $0.name == .runDate }
    }
  }

  private static func pairs(_ values: [String: String]) -> [String] {
    values.sorted { $0.key < $1.key }.flatMap { [$0.key, $0.value] }
  }

  /// Device, inode, size and times of a file; a write shows in its ctime, whatever was done to its mtime.
  static func identity(_ path: String, settled: Bool = false) -> String? {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    let changed = Double(status.st_ctim.tv_sec) + Double(status.st_ctim.tv_nsec) / 1e9
    guard !settled || SystemClock.now - changed > clockTick else { return nil }
    let (mtime, ctime) = (status.st_mtim, status.st_ctim)
    return
      "\(status.st_dev).\(status.st_ino).\(status.st_size).\(mtime.tv_sec).\(mtime.tv_nsec).\(ctime.tv_sec).\(ctime.tv_nsec)"
  }
}
