import Endpoints
import JobModel
import Reporting
import TestSupport
import Testing

@testable import HaulCore

/// What a record says of what is there now.
struct RecordComparisonTests {
  private static func progress(_ change: (inout TransferProgress) -> Void = { _ in }) -> TransferProgress {
    var progress = TransferProgress()
    progress.size = 10
    progress.digests = [.sha256: "aa", .md5: "bb"]
    progress.destination = FileFacts(size: 10, mtime: 5_000_000_000, ctime: 5, inode: 7)
    progress.remote.etag = "\"tag\""
    progress.verification = [Verification("sha256", .server, .match)]
    change(&progress)
    return progress
  }

  @Test(
    arguments: [
      (nil, true, .different(check: "missing", expected: "10 bytes", actual: nil)),
      (
        FileFacts(size: 9, mtime: 5_000_000_000, ctime: 5, inode: 7), true,
        .different(check: "size", expected: "10", actual: "9")
      ),
      // Times decide nothing where a digest can be compared.
      (FileFacts(size: 10, mtime: 6_000_000_000, ctime: 6, inode: 8), true, nil),
      (FileFacts(size: 10, mtime: 5_000_000_000, ctime: 5, inode: 7), false, .unverifiable(.noDigest)),
      (
        FileFacts(size: 10, mtime: 6_000_000_000, ctime: 6, inode: 7), false,
        .different(check: "mtime", expected: "1970-01-01T00:00:05.000Z", actual: "1970-01-01T00:00:06.000Z")
      ),
    ] as [(FileFacts?, Bool, Comparison?)])
  func files(_ present: FileFacts?, hasDigest: Bool, _ wanted: Comparison?) {
    let record = RecordComparison(progress: Self.progress { if !hasDigest { $0.digests = [:] } })
    #expect(record.file(present) == wanted)
  }

  @Test func bytes() {
    let record = RecordComparison(progress: Self.progress())
    #expect(record.digest?.algorithm == .sha256)
    #expect(record.bytes("aa", .sha256) == .verified)
    #expect(
      record.bytes("ab", .sha256) == .different(check: "sha256", expected: "aa", actual: "ab"))
    #expect(record.bytes("aa", .sha512) == .unverifiable(.noDigest))
  }

  private static func seen(_ change: (inout RemoteObject) -> Void) -> RemoteObject {
    var object = RemoteObject()
    change(&object)
    return object
  }

  @Test(
    arguments: [
      (seen { $0.digests = [.sha256: "aa"] }, .verified),
      (seen { $0.digests = [.sha256: "ab"] }, .different(check: "sha256", expected: "aa", actual: "ab")),
      (
        seen { ($0.size, $0.digests) = (11, [.sha256: "aa"]) },
        .different(check: "size", expected: "10", actual: "11")
      ),
      (seen { $0.etag = "W/\"tag\"" }, .verified),
      (seen { $0.etag = "\"new\"" }, .different(check: "etag", expected: "\"tag\"", actual: "\"new\"")),
      // What the server may only repeat is no proof, and tells a difference all the same.
      (seen { $0.digests = [.sha512: "cc"] }, .unverifiable(.notTold)),
      (seen { $0.digests = [.sha512: "cd"] }, .different(check: "sha512", expected: "cc", actual: "cd")),
      // An MD5 that was made of an ETag says nothing where the ETag itself is the recorded one.
      (seen { ($0.etag, $0.digests) = ("\"tag\"", [.md5: "xx"]) }, .verified),
      (seen { ($0.etag, $0.digests) = ("\"new\"", [.md5: "bb"]) }, .verified),
      (seen { $0.size = 10 }, .unverifiable(.sizeOnly)),
      (RemoteObject(), .unverifiable(.notTold)),
    ] as [(RemoteObject, Comparison)])
  func objects(_ seen: RemoteObject, _ wanted: Comparison) {
    let record = RecordComparison(progress: Self.progress { $0.digests[.sha512] = "cc" })
    #expect(record.object(seen, echoes: [.sha512], etagsMayBeMD5: true) == wanted)
  }

  /// The same tag, or version, of what nobody has ever compared: the source's own digest is none of what was stored.
  @Test(arguments: [
    Verification("size", .server, .match), Verification("sha256", .server, .unavailable),
    Verification("sha256", .manifest, .match), Verification("sha256-of-source", .server, .match),
  ])
  func neverCompared(_ check: Verification) {
    for object in [Self.seen { $0.etag = "\"tag\"" }, Self.seen { $0.version = "1" }] {
      let record = RecordComparison(
        progress: Self.progress { ($0.verification, $0.remote.version) = ([check], "1") })
      #expect(record.object(object, echoes: [], etagsMayBeMD5: false) == .unverifiable(.neverCompared))
    }
    let told = Self.seen { ($0.etag, $0.digests) = ("\"tag\"", [.sha256: "aa"]) }
    let record = RecordComparison(progress: Self.progress { $0.verification = [check] })
    #expect(record.object(told, echoes: [], etagsMayBeMD5: false) == .verified)
  }

  @Test func versions() {
    let record = RecordComparison(
      progress: Self.progress { ($0.remote.etag, $0.remote.version) = (nil, "1") })
    let (same, other) = (Self.seen { $0.version = "1" }, Self.seen { $0.version = "2" })
    #expect(record.object(same, echoes: [], etagsMayBeMD5: false) == .verified)
    #expect(
      record.object(other, echoes: [], etagsMayBeMD5: false)
        == .different(check: "version", expected: "1", actual: "2"))
  }

  @Test(arguments: [(1.0, 7, 7), (0.5, 7, 4), (0.01, 7, 1), (0.01, 1000, 10), (0.3, 0, 0)])
  func samples(_ share: Double, of total: Int, wanted: Int) {
    for seed in [0, 1, .max] as [UInt64] {
      var whole = SampleDraw(share: share, of: total, seed: seed)
      let drawn = (0..<total).filter { _ in whole.takes() }
      #expect(drawn.count == wanted)
      let another = whole.takes()
      #expect(!another)
      // A stopped one goes on to the same draw.
      var first = SampleDraw(share: share, of: total, seed: seed)
      let begun = (0..<total / 2).filter { _ in first.takes() }
      var second = SampleDraw(
        share: share, of: total, seed: seed, passed: first.passed, drawn: first.drawn)
      #expect(begun + (total / 2..<total).filter { _ in second.takes() } == drawn)
    }
  }

  @Test func sharesAreRead() throws {
    #expect(try VerifyRequest.share("1%") == 0.01 && VerifyRequest.share("100%") == 1)
    for text in ["", "%", "1", "0%", "101%", "-1%", "nan%", "1e1%", "0x1%", "+5%"] {
      #expect(throws: ValueFault.self) { try VerifyRequest.share(text) }
    }
  }

  @Test func journalGoesOn() throws {
    let fixture = try CoreFixture()
    let (folder, question) = (fixture.scratch.path, JobModel.JSON.object([.init("id", .string("a"))]))
    let finding = try #require(
      VerifyFinding(id: "a", place: "a.bin", .different(check: "size", expected: "1", actual: "2")))
    var position = VerifyJournal.Position(last: 5, passed: 3, drawn: 2)
    position.totals.add(finding.comparison)
    position.totals.add(.unverifiable(reason: "TIMEOUT", isPassing: true))
    var seed: UInt64 = 0
    do {
      let journal = try VerifyJournal(in: folder, question: question) { 9 }
      seed = journal.seed
      journal.add(finding)
      try journal.record(position)
      journal.add(finding)
      // Nobody else works on it meanwhile.
      #expect(throws: End.self) { try VerifyJournal(in: folder, question: question) { 9 } }
    }
    // What a kill left behind the last position counts for nothing, whole or torn.
    let path = folder + "/" + VerifyJournal.name
    _ = try Sums.shell("printf '%s\\n%s' '\(finding.json.text)' '{\"la' >> \(path)", in: folder)
    do {
      let journal = try VerifyJournal(in: folder, question: question) { 0 }
      #expect(journal.position == position && journal.seed == seed && journal.total == 9)
      var found: [VerifyFinding] = []
      try journal.each { found.append($0) }
      #expect(found == [finding])
    }
    let other = try VerifyJournal(in: folder, question: .object([])) { 1 }
    #expect(other.position == VerifyJournal.Position() && other.total == 1)
  }
}
