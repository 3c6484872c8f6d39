import Foundation
import TestSupport
import Testing

/// The pages that show commands, run as they stand: fences of `sh` in one shell, in their order; a fence with a file's name
/// (`yaml job.yaml`) is that file; each line of a `text` fence must come out of the page's commands, whatever its numbers.
@Suite(.turns)
struct DocsTests {
  private static func page(_ name: String) throws -> String {
    try String(contentsOfFile: Programs.root + "/docs/" + name, encoding: .utf8)
  }

  /// The fences of a page: what stands behind the three backticks, and the lines between them.
  private static func fences(_ text: String) -> [(info: String, body: String)] {
    text.matches(of: /(?m)^```(.+)\n([\s\S]*?)^```$/).map { (String($0.1), String($0.2)) }
  }

  private static func script(_ fences: [(info: String, body: String)]) -> String {
    fences.reduce(into: "set -eo pipefail\ntrap 'kill $(jobs -p); wait' EXIT\n") { script, fence in
      let words = fence.info.split(separator: " ", maxSplits: 1)
      if fence.info == "sh" {
        script += fence.body
      } else if words.count == 2 {
        script += "cat > '\(words[1])' <<'END OF FILE'\n\(fence.body)END OF FILE\n"
      }
    }
  }

  /// A line without its numbers and what depends on them.
  private static func shape(_ line: some StringProtocol) -> String {
    String(line).replacing(/[0-9][0-9.]*/, with: "#").replacing(/# ([KMG]i)?B\b/, with: "# B")
  }

  private func run(
    _ name: String, in bench: Bench, _ changes: [(String, String)] = [], _ more: [String: String] = [:]
  ) async throws {
    let port = try Loopback.freePort()
    var text = try Self.page(name).replacing("127.0.0.1:8080", with: "127.0.0.1:\(port)")
    for (old, new) in changes { text = text.replacing(old, with: new) }
    let fences = Self.fences(text)
    let programs = Programs.haul.replacing(/\/[^\/]+$/, with: "")
    let environment = bench.environment(more).merging(["PATH": "\(programs):/usr/sbin:/usr/bin:/bin"]) { $1 }
    let end = try await Running(
      "/bin/bash", ["-c", Self.script(fences) + "exec 2>&-\n"], environment: environment, folder: bench.job,
      scratch: bench.scratch.path
    ).wait()
    let said = end.output + end.errors
    #expect(end.status == 0, "\(name): \(said)")
    let shown = fences.filter { $0.info == "text" }.flatMap { $0.body.split(separator: "\n") }
    #expect(shown.count > 0 && fences.contains { $0.info == "sh" })
    let shapes = said.split(separator: "\n").map(Self.shape)
    for line in shown {
      let shape = Self.shape(line)
      #expect(shapes.contains { $0.contains(shape) }, "\(name): nothing prints `\(line)`: \(said)")
      for run in line.matches(of: /\(run [0-9]+,/) {
        #expect(said.contains(run.output), "\(name): no `\(run.output)`: \(said)")
      }
    }
  }

  @Test func gettingStarted() async throws { try await run("getting-started.md", in: Bench()) }

  @Test func cookbook() async throws {
    let bench = try Bench()
    let moto = try await Moto(bench)
    try await run(
      "cookbook.md", in: bench,
      [("https://s3.eu-central-1.amazonaws.com", moto.url), ("eu-central-1", "us-east-1")],
      Moto.environment)
  }

  /// Each code of the report's table has its place.
  @Test func troubleshootingKnowsEachCode() throws {
    let codes = try Self.page("reports.md").matches(of: /(?m)^\| `([A-Z_]+)` \|/).map { String($0.1) }
    let page = try Self.page("troubleshooting.md")
    #expect(codes.count > 20)
    for code in codes { #expect(page.contains("`\(code)`"), "\(code)") }
  }

  /// What the table of faults calls a guard is in the sources: a type, or its member.
  @Test func guardsAreThere() throws {
    let rows = try Self.page("faults.md").split(separator: "\n").map {
      $0.split(separator: "|", omittingEmptySubsequences: false)
    }
    let names = rows.filter { $0.count > 4 }.flatMap { row in
      row[3].matches(of: /`([A-Z]\w+)(?:\.([a-z]\w*))?/).map { "check \($0.1) \($0.2 ?? "")" }
    }
    #expect(names.count > 100)
    let missing = try Sums.shell(
      """
      check() {
        grep -rlE "\\b(struct|class|enum|actor|extension|protocol) (\\w+\\.)*$1\\b" Sources |
          xargs grep -sqE "\\b(func|var|let|case|package)\\b.*\\b$2\\b" || echo "$1.$2"
      }
      \(Set(names).subtracting(["check Mutex ", "check RENAME_NOREPLACE "]).sorted().joined(separator: "\n"))
      """, in: Programs.root)
    #expect(missing == "")
  }

  /// A page leads nowhere else than to files that are there.
  @Test func linksLeadSomewhere() throws {
    let pages = try FileManager.default.contentsOfDirectory(atPath: Programs.root + "/docs")
      .filter { $0.hasSuffix(".md") }.map { "docs/" + $0 }
    for page in pages + ["README.md", "ARCHITECTURE.md"] {
      let text = try String(contentsOfFile: Programs.root + "/" + page, encoding: .utf8)
      let folder = page.hasPrefix("docs/") ? Programs.root + "/docs/" : Programs.root + "/"
      for link in text.matches(of: /\]\(([^)#:]+)(#[^)]*)?\)/).map({ String($0.1) }) {
        #expect(FileManager.default.fileExists(atPath: folder + link), "\(page): \(link)")
      }
    }
  }
}
