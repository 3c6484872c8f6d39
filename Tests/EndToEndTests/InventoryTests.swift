import Foundation
import TestSupport
import Testing

/// An S3 Inventory in place of a listing, as boto3 and gzip write one.
@Suite(.turns)
struct InventoryTests {
  private static let script = #"""
    import gzip, hashlib, json, os, sys, urllib.parse as up
    folder, names = sys.argv[1], json.loads(sys.argv[2])
    os.makedirs(folder + "/2026-01-01T00-00Z"), os.makedirs(folder + "/data")
    files = []
    for number, part in enumerate((names[::2], names[1::2])):
        rows = "".join(f'"bkt","{up.quote_plus(key, safe="/")}","{size}","true","false"\n' for key, size in part)
        data = gzip.compress(rows.encode())
        with open(f"{folder}/data/{number}.csv.gz", "wb") as f: f.write(data)
        files.append({"key": f"inv/bkt/all/data/{number}.csv.gz", "size": len(data), "MD5checksum": hashlib.md5(data).hexdigest()})
    with open(folder + "/2026-01-01T00-00Z/manifest.json", "w") as f:
        json.dump({"sourceBucket": "bkt", "fileFormat": "CSV", "fileSchema": "Bucket, Key, Size, IsLatest, IsDeleteMarker", "files": files}, f)
    """#

  @Test func nothingIsListed() async throws {
    let bench = try Bench()
    let s3 = try await StrictS3(bench)
    let names = ["a", "b/c d+e", "ä"]
    for (number, name) in names.enumerated() {
      try bench.source("up/" + name, size: 100 + number, seed: UInt64(number + 1))
    }
    func run(_ job: String, _ transfer: String) async throws -> HaulRun {
      try await bench.run(
        """
        version: 1
        job: \(job)
        endpoints: { s3: \(s3.endpoint()) }
        transfers: [{ id: all, \(transfer) }]
        """, environment: StrictS3.environment)
    }
    try #require(try await run("up", "upload: \"up/**\", to: \"s3:in/\"").status == 0)
    let listed =
      names.enumerated().map { "[\"in/\($0.element)\", \(100 + $0.offset)]" } + ["[\"other/x\", 1]"]
    _ = try await Venv.run(Self.script, [bench.job + "/inv", "[" + listed.joined(separator: ", ") + "]"])
    let inventory = "for_each: { inventory: inv/2026-01-01T00-00Z/manifest.json }"
    let before = s3.log().count
    let down = try await run("down", "download: \"s3:in/\", to: down/, \(inventory)")
    #expect(down.status == 0 && down.faults == "", "\(down.errors) \(down.faults)")
    #expect(try Sums.tree(bench.job + "/down") == Sums.tree(bench.job + "/up"))
    let copy = try await run("copy", "copy: \"s3:in/\", to: \"s3:out/\", \(inventory)")
    #expect(copy.status == 0 && copy.totals["completed"].int == 3, "\(copy.errors)")
    #expect(Set(copy.transfers.compactMap { $0["id"].string }) == ["all/a", "all/b/c%20d%2Be", "all/%C3%A4"])
    #expect(s3.log()[before...].allSatisfy { $0.op != "list" })
    #expect(copy.transferred == 0, "the service copies")
    let again = try await bench.run(nil, environment: StrictS3.environment)
    #expect(again.totals["up_to_date"].int == 3, "\(again.errors)")
    // What is listed and gone is told.
    _ = try await Venv.run(Self.script, [bench.job + "/inv2", "[[\"in/none\", 1]]"])
    let gone = try await run(
      "gone", "copy: \"s3:in/\", to: \"s3:o/\", for_each: { inventory: inv2/2026-01-01T00-00Z/manifest.json }"
    )
    #expect(gone.state("all/none") == "failed NOT_FOUND")
    // A file that is not what S3 wrote is not believed.
    try Data("x".utf8).write(to: URL(fileURLWithPath: bench.job + "/inv2/data/0.csv.gz"))
    let damaged = try await run(
      "damaged",
      "copy: \"s3:in/\", to: \"s3:o/\", for_each: { inventory: inv2/2026-01-01T00-00Z/manifest.json }"
    )
    #expect(damaged.status != 0 && damaged.errors.contains("0.csv.gz"), "\(damaged.errors)")
  }
}
