import Endpoints
import Foundation
import JobManifest
import JobModel
import Planner

/// A folder with files and a manifest, planned.
struct PlanFixture {
  let folder: URL

  init(_ files: [String: String] = [:]) throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("planner-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for (name, text) in files { try write(name, Data(text.utf8)) }
  }

  func write(_ name: String, _ data: Data) throws {
    let url = folder.appendingPathComponent(name)
    try FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try data.write(to: url)
  }

  func remove() { try? FileManager.default.removeItem(at: folder) }

  struct Outcome {
    var transfers: [PlannedTransfer] = []
    var diagnostics: [Diagnostic] = []
    var lines: [String] {
      diagnostics.map { "\($0.mark?.text ?? "-"): \($0.severity.rawValue): \($0.message)" }
    }
    var errors: [Diagnostic] { diagnostics.filter { $0.severity == .error } }
    var ids: [String] { transfers.map(\.id) }
    var destinations: [String] { transfers.map(\.destination.text) }
  }

  static let head = """
    version: 1
    job: test
    endpoints:
      depot: { type: session, url: "http://127.0.0.1:1/" }
      web: { type: http, url: "http://127.0.0.1:1/base" }
    transfers:

    """

  /// Plans entries of `transfers`, indented by two, below two endpoints.
  func plan(_ transfers: String, head: String = head, lister: RemoteLister? = nil) throws -> Outcome {
    let result = ManifestReader.read(
      head + transfers, path: "jobs/job.yaml", directory: folder.path,
      environment: { $0 == "HOME" ? "/root" : nil })
    var outcome = Outcome(diagnostics: result.diagnostics)
    guard let job = result.job else { return outcome }
    outcome.diagnostics += try JobPlanner.expand(
      job, run: RunValues(id: "RUN1", startedAt: 1_785_369_600), uuid: { "uuid-of-\($0)" }, lister: lister
    ) { outcome.transfers.append($0) }
    return outcome
  }
}
