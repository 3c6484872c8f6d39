import Endpoints
import JobManifest
import JobModel
import Testing

/// `preserve`, `metadata`, `tags` and `storage_class` as the reader takes them.
struct AttributesTests {
  private static let head = """
    version: 1
    job: test
    endpoints:
      s3: { type: s3, url: "https://s3.example.net", bucket: b }
      web: { type: http, url: "https://www.example.net" }
      dav: { type: webdav, url: "https://dav.example.net" }

    """

  private func template(_ transfer: String, defaults: String = "{}") throws -> TransferTemplate {
    let result = read(Self.head + "defaults: \(defaults)\ntransfers:\n  - { id: a, \(transfer) }\n")
    #expect(result.diagnostics.filter { $0.severity == .error } == [])
    let job = try #require(result.job)
    return try #require(job.templates.first)
  }

  @Test func levelsAreLaidOverEachOther() throws {
    let defaults = "{ metadata: { Owner: d, place: d }, tags: { t: d }, storage_class: D, preserve: [tags] }"
    let plain = try #require(try template("upload: x, to: \"s3:x\"", defaults: defaults).settings["s3"])
    #expect(plain.given.metadata == ["owner": "d", "place": "d"] && plain.given.tags == ["t": "d"])
    #expect(plain.given.storageClass == "D" && plain.preserve.words == ["tags"])
    let own = try #require(
      try template(
        "copy: \"s3:y\", to: \"s3:x\", metadata: { owner: 1 }, storage_class: O, preserve: [mtime!, mode]",
        defaults: defaults
      ).settings["s3"])
    #expect(own.given.metadata == ["owner": "1", "place": "d"] && own.given.storageClass == "O")
    #expect(own.preserve.words == ["mtime!", "mode"])
    // A download has no object to give anything.
    let download = try template("download: \"s3:y\", to: x", defaults: defaults)
    #expect(download.settings["s3"]?.given == GivenAttributes() && download.ownGiven.isEmpty)
  }

  /// What the environment gives is known by its name, so that another value is no other manifest.
  @Test func valuesOfTheEnvironment() throws {
    let text = """
      version: 1
      job: test
      vars: { team: blue, home: "${env.HOME}" }
      endpoints:
        s3:
          type: s3
          url: "https://s3.example.net"
          bucket: b
          tags: { team: "${var.team}", from: "${env.HOME}", home: "${var.home}" }
          storage_class: "${var.team}"
      transfers:
        - id: a
          upload: x
          to: "s3:x"
          content_type: "text/${env.HOME|basename}"
          metadata: { team: "${var.team}", From: "of ${env.HOME}", day: "${env.HOME} ${run.date}" }

      """
    let result = read(text)
    #expect(result.diagnostics.filter { $0.severity == .error } == [])
    let job = try #require(result.job)
    #expect(
      job.endpoints["s3"]?.objectWords == [
        "tags.team": "blue", "tags.from": "${env.HOME}", "tags.home": "${var.home}", "storage_class": "blue",
      ])
    let settings = try #require(job.templates.first?.settings["s3"])
    #expect(settings.contentType == "text/u" && settings.given.metadata["from"] == "of /home/u")
    #expect(
      settings.given.written == ["content_type": "text/${env.HOME}", "metadata.from": "of ${env.HOME}"])
    #expect(job.templates.first?.attributes.map(\.value.written) == ["${env.HOME} ${run.date}"])
  }

  @Test func whatRowsAndTheRunDecide() throws {
    let rows = try template(
      "for_each: { list: l }, upload: \"${each.line}\", to: \"s3:${each.line}\", metadata: { line: \"${each.line}\", k: v }, tags: { day: \"${run.date}\" }"
    )
    #expect(rows.attributes.map(\.name) == ["line", "day"])
    #expect(rows.settings["s3"]?.given.metadata == ["k": "v"])
    #expect(rows.ownGiven == [.metadata, .tags])
  }

  @Test func whatCanNeverBeKeptIsWarnedOf() {
    func warnings(_ transfer: String) -> [String] {
      read(Self.head + "transfers:\n  - { id: a, \(transfer) }\n").diagnostics.filter {
        $0.severity == .warning
      }
      .map(\.message)
    }
    #expect(warnings("download: \"s3:x\", to: x, preserve: [mtime!, mode!, tags]").isEmpty)
    #expect(warnings("copy: \"s3:x\", to: \"s3:y\", preserve: [tags!, metadata!]").isEmpty)
    #expect(warnings("download: \"s3:x\", to: x, preserve: [tags!]").count == 1)
    #expect(
      warnings("copy: \"s3:x\", to: \"dav:y\", preserve: [metadata!, content_type!]").first?.hasPrefix(
        "`metadata!` can't be kept, as the destination has no place for it") == true)
    #expect(
      warnings("copy: \"web:x\", to: \"s3:y\", preserve: mode!").first?.contains("the source tells none")
        == true)
  }
}
