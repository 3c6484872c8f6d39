import Foundation
import JobManifest
import Testing

/// Every manifest in `jobs/` is a good one.
struct JobsTests {
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("jobs")
  private static let names =
    ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).filter {
      $0.hasSuffix(".yaml")
    }
    .sorted()

  @Test(arguments: names) func reads(_ name: String) throws {
    let text = try String(contentsOf: Self.folder.appendingPathComponent(name), encoding: .utf8)
    let result = ManifestReader.read(
      text, path: "jobs/" + name, directory: Self.folder.path, environment: { _ in nil })
    #expect(result.job != nil, "\(result.diagnostics)")
  }

  @Test func thereAreSome() { #expect(Self.names.contains("tus-upload.yaml") && Self.names.count >= 7) }
}
