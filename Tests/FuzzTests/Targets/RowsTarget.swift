import Endpoints
import Glibc
import JobManifest
import JobModel

/// A row file of the format that the first byte chooses, planned by a job that uses its columns everywhere.
enum RowsTarget {
  static func run(_ bytes: [UInt8]) throws {
    guard let choice = bytes.first else { return }
    let content = bytes.dropFirst()
    let file = fileno(file)
    ftruncate(file, 0)
    var written = 0
    while written < content.count {
      let count = content.dropFirst(written).withUnsafeBytes {
        pwrite(file, $0.baseAddress, $0.count, written)
      }
      guard count > 0 else { throw Violation(description: "the scratch file can't be written") }
      written += count
    }
    try ManifestTarget.plan(jobs[Int(choice) % jobs.count])
  }

  /// Without a name: nothing is left behind.
  nonisolated(unsafe) private static let file: UnsafeMutablePointer<FILE> = {
    guard let file = tmpfile() else { fatalError("no temporary file: errno \(errno)") }
    return file
  }()

  private static let jobs: [Job] = [
    """
    for_each: { csv: FILE, key: "${each.k}" }
        download: "web:${each.path}"
        to: "out/${each.path}"
        expect: { sha256: "${each.sum|default()}", size: "${each.size}" }
    """,
    """
    for_each: { csv: FILE, columns: [p, q], key: "${each.q}" }
        upload: "${each.p}"
        to: "depot:n-${source.name}"
        chunk_size: "${each.q}MiB"
        headers: { X-Q: "${each.q}" }
    """,
    """
    for_each: { jsonl: FILE }
        download: "${each.p}"
        to: "j/${each.n}/"
        expect: { size: "${each.n}", md5: "${each.e|default()}" }
    """,
    """
    for_each: { checksums: FILE }
        download: "web:${each.path}"
        to: "s/${each.path}"
        expect: { sha256: "${each.sha256}" }
    """,
    """
    for_each: { list: FILE }
        download: "web:${each.line|url}"
        to: "l/${each.line}"
    """,
  ].map { entry in
    let path = "/proc/self/fd/\(fileno(file))"
    let manifest = """
      version: 1
      job: rows
      endpoints:
        depot: { type: session, url: "http://127.0.0.1:1/" }
        web: { type: http, url: "http://127.0.0.1:1/base" }
      transfers:
        - id: r
          \(entry.split(separator: "FILE").joined(separator: path))
      """
    let result = ManifestReader.read(
      manifest, path: "jobs/job.yaml", directory: "/nonexistent/haul-fuzz", environment: { _ in nil })
    guard let job = result.job else { fatalError("\(result.diagnostics)\n\(manifest)") }
    return job
  }
}
