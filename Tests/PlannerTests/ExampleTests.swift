import Endpoints
import Foundation
import JobManifest
import JobModel
import Planner
import Testing

@Suite struct ExampleTests {
  @Test func `the whole example expands without an error`() throws {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("jobs")
    let text = try String(contentsOf: folder.appendingPathComponent("example.yaml"), encoding: .utf8)
    let result = ManifestReader.read(
      text, path: "jobs/example.yaml", directory: folder.path, environment: { _ in nil })
    let job = try #require(result.job)
    var ids: [String] = []
    let diagnostics = try JobPlanner.expand(
      job, run: RunValues(id: "R", startedAt: 1_767_225_600), uuid: { $0 }
    ) {
      ids.append($0.id)
    }
    #expect(diagnostics.map(\.severity) == [.warning])
    #expect(ids == ["deck", "legacy/2019/intro.mov", "legacy/2019/outro.mov"])
  }

  /// Every job that users are shown reads without a fault, and has no ids twice.
  @Test func `all jobs can be planned`() throws {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("jobs")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter {
      $0.hasSuffix(".yaml")
    }
    #expect(
      names.contains("presigned-upload.yaml") && names.contains("salesforce-files.yaml")
        && names.contains("s3-archive.yaml"))
    for name in names {
      let text = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
      let result = ManifestReader.read(
        text, path: "jobs/" + name, directory: folder.path, environment: { _ in "value" })
      #expect(result.diagnostics.filter { $0.severity == .error } == [], "\(name)")
      guard name == "salesforce-files.yaml" else { continue }
      let job = try #require(result.job)
      var ids: [String] = []
      let said = try JobPlanner.expand(job, run: RunValues(id: "R", startedAt: 1_767_225_600), uuid: { $0 }) {
        ids.append($0.id)
      }
      #expect(ids == ["decks/q3.pdf", "decks/launch/film.mp4"] && said.isEmpty)
    }
  }
}
