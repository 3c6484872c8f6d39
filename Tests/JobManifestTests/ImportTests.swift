import Endpoints
import JobManifest
import JobModel
import Testing

/// `imports`: names of other files, below the manifest's own.
struct ImportTests {
  private static let head = "version: 1\njob: test\n"
  private static let transfers = "\ntransfers:\n  - { id: a, download: depot:x, to: \"${var.to}\" }\n"
  private static let common = """
    vars: { to: common, more: "1" }
    endpoints:
      depot: { type: session, url: "https://common.example.net" }
    policies: { slow: { transfers: 1 }, fast: { transfers: 9 } }
    defaults: { policy: slow, chunk_size: 1MiB }
    """

  /// - Parameter files: by their paths below the manifest's folder, or absolute.
  private static func read(
    _ own: String, _ files: [String: String], links: [String: String] = [:], transfers: String = transfers
  ) -> ManifestResult {
    func place(_ path: String) -> String { path.hasPrefix("/") ? path : "/srv/job/" + path }
    let texts = Dictionary(uniqueKeysWithValues: files.map { (place($0.key), $0.value) })
    let links = Dictionary(uniqueKeysWithValues: links.map { (place($0.key), place($0.value)) })
    return ManifestReader.read(
      head + own + transfers, path: "jobs/job.yaml", directory: "/srv/job",
      imports: ImportSource(
        manifest: "/srv/job/job.yaml",
        resolve: { path in
          let real = links[path] ?? path
          return texts[real] == nil && real != "/srv/job/job.yaml" ? .failure(.missing) : .success(real)
        },
        read: { texts[$0].map { .success(Array($0.utf8)) } ?? .failure(.unreadable("no")) }),
      environment: { _ in nil })
  }

  private static func faults(_ result: ManifestResult) -> [String] {
    result.diagnostics.map { "\($0.mark?.text ?? "-"): \($0.message)" }
  }

  @Test func namesComeFromTheImport() throws {
    let result = Self.read("imports: [common.yaml]", ["common.yaml": Self.common])
    let job = try #require(result.job, "\(result.diagnostics)")
    #expect(job.templates.first?.destination.text.text.literal == "common")
    #expect(job.endpoints["depot"]?.url == "https://common.example.net")
    let settings = try #require(job.templates.first?.settings["depot"])
    #expect(settings.policy.transfers == 1 && settings.chunkSize == .bytes(1 << 20))
    #expect(
      result.imports.map(\.path) == ["/srv/job/common.yaml"] && job.imports == result.imports.map(\.path))
  }

  /// Name by name, and under `defaults` key by key.
  @Test func theImportingFileWins() throws {
    let own = """
      imports: [common.yaml]
      vars: { to: own }
      policies: { slow: { transfers: 2 } }
      defaults: { chunk_size: 2MiB }
      """
    let job = try #require(Self.read(own, ["common.yaml": Self.common]).job)
    #expect(job.variables == ["to": "own", "more": "1"])
    #expect(job.policies["slow"]?.transfers == 2 && job.policies["fast"]?.transfers == 9)
    let settings = try #require(job.templates.first?.settings["depot"])
    #expect(settings.policy.transfers == 2 && settings.chunkSize == .bytes(2 << 20))
  }

  /// What is imported last wins among imports, each with its own imports below it.
  @Test func theLastImportWins() throws {
    let result = Self.read(
      "imports: [common.yaml, lib/b.yaml]",
      [
        "common.yaml": Self.common, "lib/b.yaml": "imports: [c.yaml]\nvars: { more: b }",
        "lib/c.yaml": "vars: { more: c, to: c }",
      ])
    #expect(try #require(result.job, "\(result.diagnostics)").variables == ["to": "c", "more": "b"])
  }

  /// Files that settings name lie beside the file that names them.
  @Test func filesLieBesideTheImport() throws {
    let lib = """
      endpoints: { depot: { type: session, url: "https://h", auth: { bearer: { file: token } }, tls: { ca_file: ca.pem } } }
      vars: { to: x }
      """
    let depot = try #require(Self.read("imports: [lib/a.yaml]", ["lib/a.yaml": lib]).job?.endpoints["depot"])
    #expect(depot.authentication == .bearer(.file("/srv/job/lib/token")))
    #expect(depot.policy.caFile == "/srv/job/lib/ca.pem")
  }

  @Test func faultsAreToldWhereTheyAre() throws {
    let broken = Self.common.replacing("transfers: 1 }", with: "transfers: many }")
    let result = Self.read("imports: [lib/common.yaml]", ["lib/common.yaml": broken])
    #expect(Self.faults(result) == ["jobs/lib/common.yaml:4:32: `many` is not a whole number"])
    #expect(result.diagnostics.first?.lineText?.hasPrefix("policies: { slow: { transfers: many") == true)
  }

  @Test(arguments: [
    ("transfers: []", "1:1: `transfers` does not belong into an imported file"),
    ("version: 1", "1:1: `version` does not belong into an imported file"),
    ("vers: 1", "1:1: an imported file has no key `vers`"),
    ("- a", "1:1: `jobs/i.yaml` is a list here: a mapping is wanted"),
    ("vars: []", "1:7: `vars` is a list here: a mapping is wanted"),
    ("vars: { a: 1\n", "2:1: "),
    ("imports: [i.yaml]", "1:11: `i.yaml` is imported by itself"),
    ("imports: [job.yaml]", "1:11: `job.yaml` is imported by itself"),
    ("imports: [j.yaml]", "1:11: the imported file `j.yaml` does not exist"),
    ("imports: [\"${var.a}\"]", "1:11: `${var.a}` is read before any variable is known"),
    ("imports: [../a.yaml]", "1:11: the import `../a.yaml` lies outside"),
    ("imports: [/etc/a.yaml]", "1:11: the import `/etc/a.yaml` lies outside"),
    ("imports: [link.yaml]", "1:11: the import `link.yaml` is a link that leads outside"),
  ])
  func brokenImports(_ text: String, _ fault: String) {
    let result = Self.read(
      "imports: [i.yaml, common.yaml]",
      ["i.yaml": text, "common.yaml": Self.common, "/etc/a.yaml": "", "/srv/a.yaml": ""],
      links: ["link.yaml": "/srv/a.yaml"])
    #expect(result.job == nil)
    let faults = Self.faults(result)
    #expect(faults.count == 1 && faults[0].hasPrefix("jobs/i.yaml:" + fault), "\(faults)")
  }

  /// What a missing file may have declared is no further fault, and the end is that of an input that is not there.
  @Test func aMissingImportIsOneFault() {
    let result = Self.read("imports: [common.yaml]\ndefaults: { policy: slow }", [:])
    #expect(
      Self.faults(result) == ["jobs/job.yaml:3:11: the imported file `common.yaml` does not exist"])
    #expect(result.diagnostics.map(\.cause) == [.unreadableInput])
  }

  @Test(arguments: ["allow_outside: true", "defaults: { allow_outside: true }"])
  func outsideWhereItIsAllowed(_ key: String) {
    let files = ["/srv/common.yaml": Self.common, "/srv/job/i.yaml": "allow_outside: true\nimports: [../x]"]
    #expect(Self.read("imports: [../common.yaml]\n" + key, files).job != nil)
    #expect(Self.read("imports: [../common.yaml]", files).job == nil)
  }

  @Test(arguments: [(8, true), (9, false)]) func eightDeep(_ depth: Int, _ isFine: Bool) {
    var files = ["\(depth).yaml": Self.common]
    for number in 1..<depth { files["\(number).yaml"] = "imports: [\(number + 1).yaml]" }
    let result = Self.read("imports: [1.yaml]", files)
    #expect((result.job != nil) == isFine, "\(result.diagnostics)")
    if !isFine {
      #expect(Self.faults(result).first?.hasPrefix("jobs/8.yaml:1:11: imports of imports go") == true)
    }
  }

  /// Each file is read once, however many ways lead to it.
  @Test func manyWaysToOneFile() {
    var files = ["8.yaml": Self.common]
    for number in 1..<8 {
      files["\(number).yaml"] =
        "imports: [\(Array(repeating: "\(number + 1).yaml", count: 50).joined(separator: ", "))]"
    }
    let result = Self.read("imports: [1.yaml]", files)
    #expect(result.job != nil && result.imports.count == 8)
  }
}
