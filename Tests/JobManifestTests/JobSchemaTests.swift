import Endpoints
import Foundation
import JobManifest
import JobModel
import ManifestFields
import TestSupport
import Testing
import YAML

/// `schemas/job.schema.json` says of manifests what the reader says.
struct JobSchemaTests {
  private static let path = Programs.schemas + "/job.schema.json"

  /// What endpoints and policies take is made from their key tables. `make schema` writes it.
  @Test func madeFromTheKeyTables() throws {
    let committed = try String(contentsOfFile: Self.path, encoding: .utf8)
    var made = committed
    for (name, value) in PolicySchema.definitions + [("endpoint", EndpointSchema.definition)] {
      made = try Self.schema(made, with: value, as: name)
    }
    if ProcessInfo.processInfo.environment["HAUL_WRITE_SCHEMA"] != nil {
      try made.write(toFile: Self.path, atomically: true, encoding: .utf8)
    } else {
      #expect(committed == made, "`make schema` writes it anew")
    }
  }

  /// The keys that all kinds share, too.
  @Test func commonKeysAreTheReaders() throws {
    let text = try String(contentsOfFile: Self.path, encoding: .utf8)
    let schema = try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    let definitions = schema["$defs"] as? [String: Any]
    let kinds = try #require((definitions?["endpoint"] as? [String: Any])?["allOf"] as? [[String: Any]])
    for (kind, driver) in zip(kinds, EndpointRegistry.all) {
      let keys = ((kind["then"] as? [String: Any])?["properties"] as? [String: Any])?.keys
      #expect(keys.map(Set.init) == Set(KeyShape.endpointCommon + driver.keyNames))
    }
    #expect(kinds.count == EndpointRegistry.all.count)
  }

  private static func schema(
    _ schema: String, with definition: JobModel.JSON, as name: String
  ) throws -> String {
    let start = try #require(schema.range(of: "\n    \"\(name)\": {\n"))
    let end = try #require(schema.range(of: "\n    }", range: start.upperBound..<schema.endIndex))
    var part: [UInt8] = []
    definition.write(to: &part, indent: 4)
    return schema.replacingCharacters(
      in: start.lowerBound..<end.upperBound,
      with: "\n    \"\(name)\": " + String(decoding: part, as: UTF8.self))
  }

  @Test func goodManifestsAreValid() async throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: Programs.root + "/jobs")
    var texts = try names.filter { $0.hasSuffix(".yaml") }.sorted().map {
      try String(contentsOfFile: Programs.root + "/jobs/" + $0, encoding: .utf8)
    }
    // Keys of the user's own where names stand, and names that only begin with an `x`.
    texts.append(
      """
      version: 1
      job: own
      vars: { x-v: [1] }
      endpoints: { x-e: [1], x: { type: http, url: "https://h" }, xy: { type: http, url: "https://h" } }
      policies: { x-p: [1], x: { transfers: 1 }, xy: { transfers: 1 } }
      transfers: [{ id: a, download: "x:a", to: a, policy: xy }]
      """)
    #expect(texts.count >= 7)
    #expect(try await Self.faults(texts).joined().isEmpty)
  }

  /// Of the broken manifests the schema refuses all but those whose fault no schema can tell.
  @Test func brokenManifestsAreRefused() async throws {
    let all =
      BrokenTopLevelTests.top + BrokenTopLevelTests.notices + BrokenTopLevelTests.policies
      + BrokenTopLevelTests.endpoints
      + BrokenTransferTests.keys + BrokenTransferTests.places + BrokenTransferTests.bounds
      + BrokenTransferTests.attributes
    let readable = all.filter { Self.json($0.marked) != nil }
    let faults = try await Self.faults(readable.map(\.marked))
    let missed = zip(readable, faults).filter { $1.isEmpty }.map(\.0.message)
    let unexpected = missed.filter { message in !Self.beyondSchemas.contains { message.contains($0) } }
    #expect(unexpected.isEmpty)
    #expect(Self.beyondSchemas.filter { fault in !missed.contains { $0.contains(fault) } } == [])
  }

  /// Faults of names, of several keys together, and of what only code reads.
  private static let beyondSchemas = [
    // Names, and what `${…}` stands for.
    "the policy `office` is not declared", "the variable `none` is not declared", "is empty or not set",
    "`a` is made of itself", "`b` matches no transfer", "runs in a circle: a → a", "a → c → b → a",
    "the id `a` is taken", "is the destination of `a`", "the endpoint `depo` is not declared",
    "`${nope}` is unknown", "names nothing", "no filter `upper`", "is refused in `user`",
    "is refused in `headers`", "can't be used in", "`${run.nmber}` is unknown",
    "belongs into `to` of a fan-out",
    // Several keys together, and what stands for an endpoint.
    "longer than `max`", "both sides are local", "both sides are remote",
    "a copy comes from a remote", "a copy goes to a remote", "`ftp` URLs are not spoken",
    "lies outside", "is for uploads", "is for downloads", "`verify: readback` reads an upload back",
    "`verify: required` can't be met", "is for fan-outs", "without `for_each`", "every file would land",
    "`columns` are of a csv", "every row would have one id", "needs a `key`", "a glob and `for_each`",
    "`max` is less than `min`", "`before` is not later", "nothing tells the size",
    "`2026-02-30` is not a time",
    "is there twice", "stands with other words", "is in `metadata` twice", "the metadata `a` can't be sent",
    "is not taken by",
    // Texts with a grammar of their own.
    "at least 1 byte", "longer than 0s", "is not a time zone", "not a time of day", "not a share",
    "prefix length",
    "not a media type", "which haul does not expand", "is a name of haul's own", "`to` is empty",
    "is not closed", "never written in the manifest", "a secret is never written", "no line ends",
    "haul sets `Content-Length` itself", "ends in `/api`", "JSON can't hold the number",
  ]

  /// What is wrong with each manifest by the schema.
  private static func faults(_ texts: [String]) async throws -> [[String]] {
    let scratch = try Scratch()
    let file = scratch.path + "/manifests.jsonl"
    let lines = try texts.map { try #require(json($0)).text + "\n" }
    try lines.joined().write(toFile: file, atomically: true, encoding: .utf8)
    var faults = Array(repeating: [String](), count: texts.count)
    for line in try await Schema.faults(of: file, name: "job", isLines: true).split(separator: "\n") {
      let number = try #require(line.split(separator: " ").first.flatMap { Int($0) }, "\(line)")
      faults[number].append(String(line))
    }
    return faults
  }

  /// As a parser of YAML 1.2 gives it to a validator; nil where it is no YAML.
  private static func json(_ text: String) -> JobModel.JSON? {
    let document = YAMLParser.parse(Array(text.replacing("▶", with: "").utf8))
    return document.faults.isEmpty ? document.root.map(json) : nil
  }

  private static func json(_ node: YAMLNode) -> JobModel.JSON {
    switch node.content {
    case .sequence(let items): .array(items.map(json))
    case .mapping(let entries): .object(entries.map { JobModel.JSON.Member($0.key, json($0.value)) })
    case .scalar(let scalar):
      switch scalar.core {
      case .null: .null
      case .bool(let value): .bool(value)
      case .integer(let value): .integer(value)
      case .number(let value): .exact(value)
      case .text(let text): .string(text)
      }
    }
  }
}
