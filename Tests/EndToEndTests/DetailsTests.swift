import Foundation
import TestSupport
import Testing

/// What a transfer may say of its bytes and its file: `expect`, `verify`, `mode`, `mtime`, a `to` that ends in `/`.
@Suite(.turns)
struct DetailsTests {
  @Test func expectations() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    let file = try bench.serve("a.bin", size: 100_000)
    try bench.source("up.bin", size: 100_000)
    var yaml = """
      version: 1
      job: expect
      endpoints: { depot: \(depot.endpoint) }
      transfers:

      """
    var digests: [String: String] = [:]
    for name in ["sha256", "sha512", "sha1", "md5"] { digests[name] = try Sums.digest(name + "sum", file) }
    for (name, digest) in digests {
      let wrong = (digest.first == "0" ? "1" : "0") + digest.dropFirst()
      yaml +=
        "  - { id: \(name), download: \"depot:a.bin\", to: \(name).bin, expect: { \(name): \"\(digest)\" } }\n"
      yaml +=
        "  - { id: \(name)-bad, download: \"depot:a.bin\", to: \(name)-bad.bin, expect: { \(name): \"\(wrong)\" } }\n"
      yaml +=
        "  - { id: \(name)-up, upload: up.bin, to: \"depot:\(name).up\", expect: { \(name): \"\(digest)\" } }\n"
      yaml +=
        "  - { id: \(name)-up-bad, upload: up.bin, to: \"depot:\(name).bad\", expect: { \(name): \"\(wrong)\" } }\n"
    }
    yaml += """
        - { id: size, download: "depot:a.bin", to: size.bin, expect: { size: 100000 } }
        - { id: size-bad, download: "depot:a.bin", to: size-bad.bin, expect: { size: 99999 } }
        - { id: crc-bad, download: "depot:a.bin", to: crc-bad.bin, expect: { crc32c: "00000000" } }
        - { id: size-up-bad, upload: up.bin, to: "depot:size.bad", expect: { size: 99999 } }

      """
    let run = try await bench.run(yaml)
    #expect(run.status == 1)
    #expect(run.faults == "")
    for name in digests.keys {
      #expect(run.state(name) == "completed", "\(name)")
      #expect(run.state(name + "-up") == "completed", "\(name)")
      #expect(run.state(name + "-bad") == "failed INTEGRITY_MISMATCH", "\(name)")
      #expect(run.state(name + "-up-bad") == "failed INTEGRITY_MISMATCH", "\(name)")
      #expect(!bench.exists(name + "-bad.bin"))
      #expect(!FileManager.default.fileExists(atPath: bench.served + "/\(name).bad"))
      #expect(run[name]["digests"][name].string == digests[name])
    }
    #expect(run.state("size") == "completed")
    #expect(run.state("size-bad") == "failed LENGTH_MISMATCH")
    #expect(run.state("size-up-bad") == "failed LENGTH_MISMATCH")
    #expect(run.state("crc-bad") == "failed INTEGRITY_MISMATCH")
    #expect(bench.parts().isEmpty)
  }

  @Test func types() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    let png = try Sums.shell(
      #"""
      python3 - "$0" <<'END'
      import zipfile, zlib, struct
      def chunk(k, d): return struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d))
      png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
      png += chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")
      jpg = bytes.fromhex("ffd8ffe000104a46494600010100000100010000") + b"x" * 500 + b"\xff\xd9"
      pdf = b"%PDF-1.4\n" + b"x" * 400 + b"\nstartxref\n9\n%%EOF\n"
      with zipfile.ZipFile("z.zip", "w") as z: z.writestr("a", "b" * 100)
      zip = open("z.zip", "rb").read()
      for name, data in dict(png=png, jpg=jpg, pdf=pdf, zip=zip).items():
        open("good." + name, "wb").write(data)
        open("cut." + name, "wb").write(data[:len(data) * 2 // 3])
      END
      """#, in: bench.served)
    #expect(png.isEmpty)
    let types = ["png": "image/png", "jpg": "image/jpeg", "pdf": "application/pdf", "zip": "application/zip"]
    var yaml = "version: 1\njob: types\nendpoints: { depot: \(depot.endpoint) }\ntransfers:\n"
    for (ending, type) in types {
      for kind in ["good", "cut"] {
        let id = kind + "." + ending
        yaml += "  - { id: \(id), download: \"depot:\(id)\", to: \(id), expect: { type: \(type) } }\n"
      }
    }
    let run = try await bench.run(yaml)
    #expect(run.status == 1)
    #expect(run.faults == "")
    for ending in types.keys {
      #expect(run.state("good." + ending) == "completed")
      #expect(run.state("cut." + ending) == "failed TYPE_MISMATCH")
      #expect(!bench.exists("cut." + ending))
    }
  }

  @Test func verification() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    let quirks = try await QuirkServer(bench)
    try bench.serve("a.bin", size: 100_000)
    try bench.source("up.bin", size: 100_000)
    let sha = try #require(try Sums.file(bench.served + "/a.bin"))
    let other = String(repeating: "0", count: 64)
    let run = try await bench.run(
      """
      version: 1
      job: verify
      endpoints: { depot: \(depot.endpoint) }
      transfers:
        - { id: required, download: "depot:a.bin", to: a.bin, verify: required }
        - { id: undigested, download: "\(quirks.url)/plain/a.bin", to: b.bin, verify: required }
        - { id: told, download: "\(quirks.url)/plain/a.bin", to: c.bin, verify: required, expect: { sha256: \(sha) } }
        - { id: size, download: "\(quirks.url)/plain/a.bin", to: d.bin, verify: size }
        - { id: readback, upload: up.bin, to: "depot:in/back.bin", verify: readback }
        - { id: sized, upload: up.bin, to: "depot:in/size.bin", verify: size }
        - { id: unlike, download: "depot:a.bin", to: e.bin, verify: size, expect: { sha256: \(other) } }
      """)
    #expect(run.status == 1)
    #expect(run.faults == "")
    #expect(run.state("required") == "completed")
    #expect(run.state("undigested") == "failed DIGEST_UNAVAILABLE")
    #expect(run.state("told") == "completed")
    #expect(run.state("size") == "completed")
    #expect(run.state("sized") == "completed")
    #expect(run.state("readback") == "completed")
    func checks(_ id: String) -> [String] {
      run[id]["verification"].array.map {
        "\($0["check"].string ?? "") \($0["against"].string ?? "") \($0["result"].string ?? "")"
      }
    }
    #expect(checks("required").contains("sha256 server match"))
    #expect(checks("told").contains("sha256 manifest match"))
    #expect(checks("readback").contains("readback server match"))
    #expect(checks("readback").contains("sha256 server match"))
    #expect(try await depot.log().downloads.contains { $0.sent == 100_000 && !$0.path.hasSuffix("a.bin") })
    #expect(!bench.exists("b.bin"))
    // What the manifest expects is compared at every level.
    #expect(run.state("unlike") == "failed INTEGRITY_MISMATCH" && !bench.exists("e.bin"))
  }

  @Test func filesAndNames() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    let quirks = try await QuirkServer(bench)
    try bench.serve("näme 1.bin", size: 1000)
    try bench.source("src/up.bin", size: 10)
    let run = try await bench.run(
      """
      version: 1
      job: names
      endpoints: { depot: \(depot.endpoint), web: { type: http, url: "\(quirks.url)" } }
      transfers:
        - { id: mode, download: "depot:näme 1.bin", to: mode.bin, mode: "0640" }
        - { id: time, download: "web:plain/näme 1.bin", to: time.bin, mtime: source }
        - { id: base, download: "depot:näme 1.bin", to: folder/ }
        - { id: told, download: "web:disposition/näme 1.bin", to: told/ }
        - { id: up, upload: src/up.bin, to: "depot:in/" }
        - { id: up2, upload: src/up.bin, to: "depot:" }
      """)
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.faults == "")
    let files = FileManager.default
    #expect(try files.attributesOfItem(atPath: bench.job + "/mode.bin")[.posixPermissions] as? Int == 0o640)
    let time = try files.attributesOfItem(atPath: bench.job + "/time.bin")[.modificationDate] as? Date
    #expect(time?.timeIntervalSince1970 == 1_672_628_645)
    #expect(bench.exists("folder/näme 1.bin"))
    let told = try files.contentsOfDirectory(atPath: bench.job + "/told")
    #expect(told.count == 1 && told.first?.contains("told by") == true && told.first?.contains("/") == false)
    #expect(!bench.exists("told by: server.bin"))
    #expect(files.fileExists(atPath: bench.served + "/in/up.bin"))
    #expect(files.fileExists(atPath: bench.served + "/up.bin"))
  }
}
