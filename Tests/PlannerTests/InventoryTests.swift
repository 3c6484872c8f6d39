import Digests
import Foundation
import JobModel
import Testing

/// An S3 Inventory as a source: in place of a prefix's listing, or row by row.
struct InventoryTests {
  private static let head = """
    version: 1
    job: test
    endpoints:
      s3: { type: s3, url: "http://127.0.0.1:1", bucket: bkt }
      web: { type: http, url: "http://127.0.0.1:1/base" }
    transfers:

    """
  private static let schema =
    "Bucket, Key, VersionId, IsLatest, IsDeleteMarker, Size, LastModifiedDate, ETag, StorageClass"

  /// A gzip file whose data is stored as it is (RFC 1952, RFC 1951, 3.2.4).
  private static func gzip(_ text: String) throws -> Data {
    let (bytes, sum) = (Array(text.utf8), try StreamingDigest(.crc32))
    sum.update(bytes)
    func little(_ value: Int, _ count: Int) -> [UInt8] { (0..<count).map { UInt8(value >> (8 * $0) & 255) } }
    var out: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 1]
    out += little(bytes.count, 2) + little(~bytes.count & 0xFFFF, 2) + bytes
    return Data(out + sum.finish().reversed() + little(bytes.count, 4))
  }

  private static func row(
    _ key: String, size: String = "3", latest: String = "true", deleted: String = "false",
    etag: String = "e1"
  ) -> String {
    "\"bkt\",\"\(key)\",\"v1\",\"\(latest)\",\"\(deleted)\",\"\(size)\",\"2026-01-01T00:00:00.000Z\",\"\(etag)\",\"STANDARD\"\n"
  }

  private func manifest(
    _ files: [(key: String, data: Data)], format: String = "CSV", schema: String = schema,
    bucket: String = "bkt"
  ) throws -> Data {
    let listed = try files.map { file in
      let sum = try StreamingDigest(.md5)
      sum.update(Array(file.data))
      return #"{"key": "\#(file.key)", "size": \#(file.data.count), "MD5checksum": "\#(sum.finishHex())"}"#
    }
    return Data(
      #"{"sourceBucket": "\#(bucket)", "destinationBucket": "arn:aws:s3:::inv", "version": "2016-11-30", "fileFormat": "\#(format)", "fileSchema": "\#(schema)", "files": [\#(listed.joined(separator: ", "))]}"#
        .utf8)
  }

  private static let copy = """
      - id: all
        copy: "s3:media/"
        to: "s3:archive/"
        for_each: { inventory: inv/manifest.json }

    """

  /// Plans with two data files, `one` and `two`, at a place for each.
  private func plan(
    _ transfers: String = copy, one: String, two: String = "",
    places: [String] = ["inv/one.csv.gz", "data/two.csv.gz"],
    change: (PlanFixture) throws -> Void = { _ in },
    manifest: (([(key: String, data: Data)]) throws -> Data)? = nil
  ) throws -> PlanFixture.Outcome {
    let fixture = try PlanFixture()
    defer { fixture.remove() }
    let files = [
      (key: "dest/bkt/all/data/one.csv.gz", data: try Self.gzip(one)),
      (key: "dest/bkt/all/data/two.csv.gz", data: try Self.gzip(two)),
    ]
    try fixture.write("inv/manifest.json", try manifest?(files) ?? self.manifest(files))
    for (place, file) in zip(places, files) { try fixture.write(place, file.data) }
    try change(fixture)
    return try fixture.plan(transfers, head: Self.head) { _, _, _, _ in
      Issue.record("nothing is listed")
    }
  }

  @Test func objectsBelowThePrefix() throws {
    let outcome = try plan(
      one: Self.row("media/a%20b%2Bc.mov", size: "12") + Self.row("other/x") + Self.row("media/")
        + Self.row("media/old", latest: "false") + Self.row("media/gone", deleted: "true"),
      two: Self.row("media/d/%C3%A4+e", size: ""))
    #expect(outcome.errors.isEmpty, "\(outcome.lines)")
    #expect(outcome.ids == ["all/a%20b%2Bc.mov", "all/d/%C3%A4%20e"])
    #expect(outcome.destinations == ["s3:archive/a b+c.mov", "s3:archive/d/ä e"])
    #expect(outcome.transfers.map(\.source.text) == ["s3:media/a b+c.mov", "s3:media/d/ä e"])
    #expect(outcome.transfers.map(\.knownSize) == [12, nil])
    #expect(outcome.transfers.first?.mark.text == "jobs/inv/one.csv.gz:1:1")
  }

  /// Where S3 writes them, and where they land when they are copied.
  @Test(arguments: [
    "inv/dest/bkt/all/data/one.csv.gz", "inv/one.csv.gz", "inv/data/one.csv.gz", "data/one.csv.gz",
  ])
  func whereFilesLie(_ place: String) throws {
    let outcome = try plan(one: Self.row("media/a"), places: [place, "inv/two.csv.gz"])
    #expect(outcome.ids == ["all/a"], "\(outcome.lines)")
  }

  @Test func includeExcludeAndRowValues() throws {
    let filtered = try plan(
      """
        - id: all
          download: "s3:media/"
          to: out/
          for_each: { inventory: inv/manifest.json }
          include: ["**/*.mov"]
          exclude: ["draft*"]
          where: { size: { max: 10 }, modified: { before: 2026-01-02 } }
          expect: { size: "${each.size}" }

      """,
      one: Self.row("media/a.mov") + Self.row("media/draft.mov") + Self.row("media/b.txt")
        + Self.row("media/large.mov", size: "11"))
    #expect(filtered.ids == ["all/a.mov"] && filtered.transfers.first?.expect.size == 3, "\(filtered.lines)")
    let rows = try plan(
      """
        - id: all
          download: "s3:${each.key}"
          to: "out/${each.ETag}-${each.storage_class}/${each.key}"
          for_each: { inventory: inv/manifest.json, key: "${each.key}" }

      """, one: Self.row("media/a%20b"))
    #expect(
      rows.ids == ["all/media/a%20b"] && rows.destinations == ["out/e1-STANDARD/media/a b"], "\(rows.lines)")
  }

  @Test func anObjectThatIsNamedTwice() throws {
    let twice = Self.row("media/a") + Self.row("media/a")
    let hints = try plan(one: twice).errors.compactMap(\.hint)
    #expect(hints.first == "the inventory names the object twice: leave one of its rows out", "\(hints)")
    let rows = try plan(
      """
        - id: all
          download: "s3:${each.key}"
          to: "out/${each.key}"
          for_each: { inventory: inv/manifest.json, key: "${each.key}" }

      """, one: twice)
    #expect(
      rows.errors.first?.hint == "give `for_each` a `key` that differs from row to row", "\(rows.lines)")
  }

  /// A console's folder is an empty object `a/`: as a file it would be in the way of `a/a`.
  @Test func marksOfFoldersAreNoRows() throws {
    let outcome = try plan(
      """
        - id: all
          download: "s3:${each.key}"
          to: "in/${each.key}"
          for_each: { inventory: inv/manifest.json }

      """, one: Self.row("a/", size: "0") + Self.row("a/a"))
    #expect(outcome.destinations == ["in/a/a"], "\(outcome.lines)")
    #expect(outcome.errors.isEmpty, "\(outcome.lines)")
    #expect(outcome.lines.contains { $0.contains("the name `a/` ends in `/`") }, "\(outcome.lines)")
  }

  @Test func whatIsWrongWithIt() throws {
    func message(_ change: @escaping ([(key: String, data: Data)]) throws -> Data) throws -> String {
      try plan(one: Self.row("media/a"), manifest: change).errors.map(\.message).joined(separator: "\n")
    }
    #expect(try message { _ in Data("{".utf8) }.contains("not an S3 Inventory"))
    #expect(try message { _ in Data("{}".utf8) }.contains("lacks `sourceBucket`"))
    #expect(
      try message { try manifest($0, format: "Parquet") }.contains("the format Parquet, and haul reads CSV"))
    #expect(try message { try manifest($0, format: "ORC") }.contains("the format ORC"))
    #expect(try message { try manifest($0, schema: "Bucket, Size") }.contains("no `Key`"))
    #expect(
      try message { try manifest($0, bucket: "other") }.contains(
        "of the bucket `other`, and `s3` is of `bkt`"))
    #expect(
      try message { try manifest([("a/../../one.csv.gz", $0[0].data)]) }.contains("is not there"),
      "no name leads elsewhere")
    let swapped = try message { try manifest([($0[0].key, Self.gzip("x")), $0[1]]) }
    #expect(swapped.contains("its MD5 is "), "\(swapped)")
  }

  @Test func filesThatAreNotWhatTheyWere() throws {
    let gone = try plan(one: Self.row("media/a"), places: ["inv/one.csv.gz"])
    #expect(gone.errors.contains { $0.message.contains("two.csv.gz` is not there") }, "\(gone.lines)")
    let plain = try plan(one: Self.row("media/a")) { try $0.write("inv/one.csv.gz", Data("no gzip".utf8)) }
    #expect(plain.errors.contains { $0.message.contains("it is not gzip") }, "\(plain.lines)")
    let short = try plan(one: Self.row("media/a")) {
      try $0.write("inv/one.csv.gz", try Self.gzip(Self.row("media/a")).dropLast(9))
    }
    #expect(short.errors.contains { $0.message.contains("cut off") }, "\(short.lines)")
    let narrow = try plan(one: "\"bkt\",\"media/a\"\n")
    #expect(
      narrow.lines.contains { $0.contains("one.csv.gz:1:1: error: the row has 2 cells") }, "\(narrow.lines)")
    let foreign = try plan(
      one: Self.row("media/a") + Self.row("media/b").replacing("\"bkt\"", with: "\"other\""))
    #expect(foreign.ids == ["all/a"] && foreign.errors.count == 1, "\(foreign.lines)")
    #expect(foreign.lines.contains { $0.contains("one.csv.gz:2:1: error: the row is of the bucket `other`") })
    let none = try plan(one: Self.row("other/a"))
    let nothing = "nothing of the inventory lies below `s3:media/`"
    #expect(none.errors.map(\.message) == [nothing], "\(none.lines)")
  }

  @Test(arguments: [
    ("upload: \"x/\", to: \"s3:a/\"", "an inventory is of an S3 bucket"),
    ("download: \"web:a/\", to: out/", "an inventory is of an S3 bucket"),
    ("download: \"s3:a\", to: out/", "every object of the inventory would have this one source"),
    ("download: \"s3:a/\", to: out", "every file would land at this one destination"),
    (
      "download: \"s3:${each.key}\", to: \"o/${each.key}\", include: [x]",
      "is for an inventory whose source is a prefix"
    ),
  ])
  func whereItHasNoPlace(_ entry: String, _ message: String) throws {
    let outcome = try plan(
      "  - { id: all, \(entry), for_each: { inventory: inv/manifest.json } }\n", one: Self.row("media/a"))
    #expect(outcome.errors.contains { $0.message.contains(message) }, "\(outcome.lines)")
  }
}
