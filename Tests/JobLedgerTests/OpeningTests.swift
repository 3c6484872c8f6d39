import Foundation
import JobModel
import SQLite
import Testing

@testable import JobLedger

struct OpeningTests {
  @Test func opensAgainWithWhatItHeld() throws {
    let folder = TemporaryFolder()
    try folder.ledger().compile([Entry(id: "a")])
    for _ in 0..<2 {
      let ledger = try folder.ledger()
      #expect(try ledger.all().map(\.id) == ["a"])
      try ledger.setMeta("k", "v")
      #expect(try ledger.meta("k") == "v" && ledger.meta("none") == nil)
    }
  }

  /// A run that goes on says again what is on record: that costs no sync.
  @Test func whatChangesNothingIsNoCommit() throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    func written() -> [Data?] {
      ["plan.commits", "plan.sqlite-wal"].map { FileManager.default.contents(atPath: folder.path + "/" + $0) }
    }
    try ledger.compile([Entry(id: "a")])
    try ledger.setMeta("k", "v")
    let before = written()
    try ledger.setMeta("k", "v")
    try ledger.settleInterrupted()
    #expect(written() == before && before.allSatisfy { $0 != nil })
    try ledger.setMeta("k", "w")
    #expect(zip(written(), before).allSatisfy { $0 != $1 })
    #expect(try ledger.meta("k") == "w")
  }

  /// SQLite's message for a folder that takes no files is the same whatever the reason.
  @Test func whyItCanNotBeOpenedIsSaid() {
    let error = DatabaseError(.cannotOpen, "unable to open database file")
    let folder = TemporaryFolder()
    #expect(
      "\(LedgerError.from(error, path: folder.path + "/none/plan.sqlite"))".contains("file: No such file"))
    #expect("\(LedgerError.from(error, path: folder.path + "/plan.sqlite"))".contains("database file; check"))
    #expect(LedgerError.from(DatabaseError(.busy), path: "p") == .busy(path: "p"))
  }

  /// As a kill leaves it in the moment in which a file that has no log is changed to have one.
  @Test func aJournalThatWasLeftIsPlayedBack() throws {
    let (folder, killed) = (TemporaryFolder(), TemporaryFolder())
    do { try folder.ledger().compile((0..<500).map { Entry(id: "t\($0)") }) }
    let db = try Database(path: folder.database)
    // A cache of one page: what is changed is in the file before the transaction ends.
    try db.execute(
      sql: "PRAGMA journal_mode = DELETE; PRAGMA cache_size = 1; BEGIN; UPDATE transfer SET id = 'x' || id")
    for name in ["plan.sqlite", "plan.sqlite-journal", "plan.commits"] {
      try FileManager.default.copyItem(atPath: folder.path + "/" + name, toPath: killed.path + "/" + name)
    }
    try db.execute(sql: "ROLLBACK")
    let files = [folder, killed].map { FileManager.default.contents(atPath: $0.database) }
    #expect(files[0] != files[1])
    #expect(try killed.ledger().all().map(\.id) == folder.ledger().all().map(\.id))
    #expect(!FileManager.default.fileExists(atPath: killed.database + "-journal"))
  }

  @Test func onlyTheOwnerMayReadIt() throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    try ledger.compile([Entry(id: "a")])
    for name in ["plan.sqlite", "plan.sqlite-wal", "plan.sqlite-shm"] {
      let facts = try FileManager.default.attributesOfItem(atPath: folder.path + "/" + name)
      #expect((facts[.posixPermissions] as? NSNumber)?.intValue == 0o600, "\(name)")
    }
    withExtendedLifetime(ledger) {}
  }

  @Test func aNewerFileIsRefused() throws {
    let folder = TemporaryFolder()
    _ = try folder.ledger()
    let db = try Database(path: folder.database)
    try db.execute(sql: "INSERT INTO grdb_migrations VALUES ('999 of the future')")
    try db.close()
    #expect(throws: LedgerError.newer(path: folder.database)) { try folder.ledger() }
  }

  /// Who does not hold the run lock changes no tables: a runner of the version before may be at work in them.
  @Test func anOlderFileIsMigratedUnderTheLockOnly() throws {
    let folder = TemporaryFolder()
    let db = try Database(path: folder.database)
    try Schema.migrator.migrate(db, upTo: "8 uploads that have begun")
    try db.close()
    #expect(throws: LedgerError.older(path: folder.database)) {
      try JobLedger(folder: folder.path, mayMigrate: false)
    }
    _ = try folder.ledger()
    _ = try JobLedger(folder: folder.path, mayMigrate: false)
  }

  /// A plan of some size, written back into its file, no log beside it.
  private func settled(_ folder: TemporaryFolder) throws -> Int {
    do {
      let ledger = try folder.ledger()
      try ledger.compile((0..<2000).map { Entry(id: "t\($0)", identity: UInt8($0 % 250)) })
      try ledger.checkpoint()
    }
    for ending in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: folder.database + ending) }
    let facts = try FileManager.default.attributesOfItem(atPath: folder.database)
    return (facts[.size] as? NSNumber)?.intValue ?? 0
  }

  /// Opens a damaged ledger and reads all of it: it must say `unreadable` on the way.
  private func check(_ what: String, _ damage: (FileHandle, Int) throws -> Void) throws {
    let folder = TemporaryFolder()
    let size = try settled(folder)
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: folder.database))
    try damage(file, size)
    try file.close()
    do {
      let ledger = try folder.ledger()
      var seq: Int64 = 0
      while let last = try ledger.page(after: seq, onlyTouched: false, limit: 500).last { seq = last.seq }
      Issue.record("\(what): opened and read up to \(seq) as if nothing had happened")
    } catch let error as LedgerError {
      guard case .unreadable(let path, _) = error else {
        Issue.record("\(what): \(error)")
        return
      }
      #expect(path == folder.database && "\(error)".contains("can't be read"))
    }
  }

  @Test func damageIsSaidNeverHealedByStartingAnew() throws {
    try check("header overwritten") { file, _ in try file.write(contentsOf: Data("not a database, no".utf8)) }
    try check("first page zeroed") { file, _ in try file.write(contentsOf: Data(count: 4096)) }
    try check("cut in half") { file, size in try file.truncate(atOffset: UInt64(size / 2)) }
    try check("cut to one page") { file, _ in try file.truncate(atOffset: 4096) }
    try check("cut to 100 bytes") { file, _ in try file.truncate(atOffset: 100) }
    try check("emptied") { file, _ in try file.truncate(atOffset: 0) }
    try check("noise in the middle") { file, size in
      try file.seek(toOffset: UInt64(8192))
      try file.write(contentsOf: Data((0..<(size - 8192)).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ 7) }))
    }
  }

  @Test func whatCanNotBeReadIsToldWithItsReason() throws {
    let folder = TemporaryFolder()
    try FileManager.default.createDirectory(
      atPath: folder.path + "/plan.commits", withIntermediateDirectories: false)
    let error = #expect(throws: LedgerError.self) { try folder.ledger() }
    #expect(error?.description.contains("Is a directory") == true)
  }

  @Test func aFolderThatIsNotThereCanNotBeWritten() {
    #expect(throws: LedgerError.self) { try JobLedger(folder: "/nowhere/at/all", mayMigrate: true) }
  }

  @Test func anotherProcessReadsWhileWeWrite() async throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    try ledger.compile((0..<100).map { Entry(id: "t\($0)") })
    let writer = LedgerWriter(ledger) { Issue.record("\($0)") }
    for round in 1...5 {
      for seq in 1...100 as ClosedRange<Int64> { writer.submit(.state(seq: seq, .running)) }
      try await writer.barrier()
      for seq in 1...100 as ClosedRange<Int64> {
        writer.submit(.chunk(seq: seq, ChunkRecord(offset: 0, length: 1, digest: "\(round)")))
      }
      let shell = Process()
      shell.executableURL = URL(fileURLWithPath: "/usr/bin/sqlite3")
      shell.arguments = [
        "-readonly", folder.database, "SELECT count(*) FROM transfer WHERE state = 'running'",
      ]
      let pipe = Pipe()
      shell.standardOutput = pipe
      shell.standardError = pipe
      try shell.run()
      let text = try pipe.fileHandleForReading.readToEnd().map { String(decoding: $0, as: UTF8.self) }
      shell.waitUntilExit()
      #expect(text == "100\n" && shell.terminationStatus == 0)
    }
    try writer.close()
  }
}
