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
    let diagnostics = try JobPlanner.expand(job, run: RunValues(id: "R", date: "2026-01-01"), uuid: { $0 }) {
      ids.append($0.id)
    }
    #expect(diagnostics.map(\.severity) == [.warning])
    #expect(ids == ["deck", "legacy/2019/intro.mov", "legacy/2019/outro.mov"])
  }

  @Test func `every manifest in jobs is valid`() throws {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("jobs")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter {
      $0.hasSuffix(".yaml")
    }
    #expect(names.contains("s3-archive.yaml"))
    // The sources of the quickstart are made when it runs.
    for name in names where name != "quickstart.yaml" {
      let text = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
      let result = ManifestReader.read(
        text, path: "jobs/\(name)", directory: folder.path, environment: { _ in "value" })
      let job = try #require(result.job, "\(name): \(result.diagnostics)")
      let diagnostics = try JobPlanner.expand(
        job, run: RunValues(id: "R", date: "2026-01-01"), uuid: { $0 }
      ) { _ in }
      #expect(diagnostics.allSatisfy { $0.severity != .error }, "\(name): \(diagnostics)")
    }
  }
}
