import Foundation
import SQLite
import Testing

struct DatabaseTests {
  private func code(_ body: () throws -> Void) -> ResultCode? {
    do {
      try body()
      return nil
    } catch {
      return (error as? DatabaseError)?.resultCode
    }
  }

  private func count(_ db: Database) throws -> Int? { try Int.fetchOne(db, sql: "SELECT count(*) FROM t") }

  /// By a statement that is prepared anew, by a cached one, by the cursor's row and by its copy.
  @Test(arguments: [
    DatabaseValue.null, .integer(0), .integer(.min), .integer(.max), .real(0), .real(-1.5e300), .text(""),
    .text("a\u{0}b"), .text("äß€😀"), .blob([]), .blob([0, 255, 1]),
  ])
  func whatIsBoundIsRead(_ value: DatabaseValue) throws {
    let folder = try ScratchFolder()
    let db = try Database(path: folder.file)
    try db.execute(sql: "CREATE TABLE t (v ANY) STRICT")
    try db.run("INSERT INTO t VALUES (?)") { $0.add(value) }
    let statement = try db.cachedStatement(sql: "SELECT v AS v FROM t")
    let copy = try #require(try Row.fetchOne(statement))
    for _ in 0..<2 {
      let rows = try Row.fetchCursor(statement)
      let row = try #require(try rows.next())
      for row in [row, copy] {
        #expect(row.isNull(0) == (value == .null))
        switch value {
        case .null:
          #expect(row[0] as String? == nil && row["v"] as Int64? == nil && row[0] as Double? == nil)
        case .integer(let number): #expect(row["v"] as Int64 == number && row[0] as Bool? == (number != 0))
        case .real(let number): #expect(row[0] as Double? == number)
        case .text(let text): #expect(row["v"] as String == text)
        case .blob(let bytes): #expect(row[0] as [UInt8]? == bytes)
        }
      }
      #expect(try rows.next() == nil)
    }
  }

  /// Damage that SQLite does not see is not read as a 0.
  @Test func nullWhereThereMustBeAValueEndsTheProcess() async throws {
    await #expect(processExitsWith: .failure) {
      let db = try Database(path: ":memory:")
      let row = try Row.fetchOne(db, sql: "SELECT NULL")
      print(row.map { $0[0] as Int64 } ?? 0)
    }
  }

  /// SQLite opens such a file to be read, and says nothing.
  @Test func noTransactionToWriteWhereNothingCanBeWritten() throws {
    let folder = try ScratchFolder()
    try Database(path: folder.file).execute(sql: "CREATE TABLE t (v INTEGER) STRICT")
    let db = try Database(path: folder.file, .readOnly)
    #expect(code { try db.transaction { _ = Issue.record("it was begun") } } == .readOnly)
    #expect(try db.transaction(.deferred) { try count(db) } == 0)
  }

  @Test func aCursorIsOverOnceItsStatementIsBegunAgain() throws {
    let folder = try ScratchFolder()
    let db = try Database(path: folder.file)
    try db.execute(sql: "CREATE TABLE t (v INTEGER) STRICT; INSERT INTO t VALUES (1), (2)")
    let statement = try db.cachedStatement(sql: "SELECT v FROM t")
    let first = try Row.fetchCursor(statement)
    #expect(try first.next() != nil)
    #expect(try Row.fetchAll(statement).count == 2)
    #expect(code { _ = try first.next() } == .misuse)
  }

  @Test func argumentsOfEachKind() throws {
    let folder = try ScratchFolder()
    let db = try Database(path: folder.file)
    let nothing: String? = nil
    let row = try #require(
      try Row.fetchOne(
        db, sql: "SELECT ?, ?, ?, ?, ?, ?, ?",
        arguments: [1, Int32(2), 3 as Int64, true, 1.5, "x", nothing]))
    #expect(row[0] as Int == 1 && row[1] as Int == 2 && row[2] as Int == 3 && row[3] as Bool)
    #expect(row[4] as Double == 1.5 && row[5] as String == "x" && row.isNull(6))
    #expect(code { _ = try Int.fetchOne(db, sql: "SELECT ?") } == .misuse)
    #expect(code { try db.execute(sql: "SELECT ?", arguments: [1, 2]) } == .misuse)
  }

  @Test func severalStatementsAndTheirArguments() throws {
    let folder = try ScratchFolder()
    let db = try Database(path: folder.file)
    try db.execute(
      sql: """
        -- first
        CREATE TABLE t (v); ; INSERT INTO t VALUES (?), (?); /* between */ INSERT INTO t VALUES (?);
        -- last
        """, arguments: [1, 2, 3])
    #expect(try Int.fetchAll(db, sql: "SELECT v FROM t") == [1, 2, 3])
    #expect(db.lastInsertedRowID == 3 && db.changesCount == 1)
  }

  /// Ranges of bytes are bound where they lie, and by none of them when the bytes are gone.
  @Test func partsOfBytes() throws {
    let folder = try ScratchFolder()
    let db = try Database(path: folder.file)
    try db.execute(sql: "CREATE TABLE t (a, b, c, d, e)")
    let insert = try db.makeStatement(sql: "INSERT INTO t VALUES (?,?,?,?,?)")
    try insert.withBinding(to: Array("onetwo".utf8)) { binding in
      try binding.bind("kept", at: 4)
      try binding.bind(0.5, at: 5)
      for range in [0..<3, 3..<6, 6..<6] {
        try binding.bind(text: range, at: 1)
        try binding.bind(blob: range, at: 2)
        try binding.bind(Int64(range.count), at: 3)
        try binding.run()
      }
    }
    try insert.withBinding(to: []) { binding in
      try binding.bind(text: 0..<0, at: 1)
      try binding.run()
    }
    let rows = try Row.fetchAll(db, sql: "SELECT * FROM t")
    #expect(rows.map { $0[0] as String? } == ["one", "two", "", ""])
    #expect(rows.map { $0[1] as [UInt8]? } == [Array("one".utf8), Array("two".utf8), [], nil])
    #expect(rows.map { $0[2] as Int? } == [3, 3, 0, nil])
    #expect(rows.map { $0[3] as String? } == ["kept", "kept", "kept", nil])
  }

  @Test func aTransactionThatThrowsLeavesNothing() throws {
    struct Stop: Error {}
    let folder = try ScratchFolder()
    let db = try Database(path: folder.file)
    try db.execute(sql: "CREATE TABLE t (v INTEGER PRIMARY KEY)")
    #expect(throws: Stop.self) {
      try db.transaction {
        try db.execute(sql: "INSERT INTO t VALUES (1)")
        throw Stop()
      }
    }
    let failure = code {
      try db.transaction {
        try db.execute(sql: "INSERT INTO t VALUES (1)")
        try db.execute(sql: "INSERT INTO t VALUES (1)")
      }
    }
    #expect(failure == .constraint)
    #expect(try count(db) == 0)
    try db.transaction { try db.execute(sql: "INSERT INTO t VALUES (1)") }
    #expect(try count(db) == 1)
  }

  /// SQLite rolls back by itself when the disk is full: what follows must not be committed alone.
  @Test func nothingIsWrittenBehindALostTransaction() throws {
    let folder = try ScratchFolder()
    let db = try Database(path: folder.file)
    try db.execute(sql: "CREATE TABLE t (v)")
    let lost = code {
      try db.transaction {
        try db.execute(sql: "INSERT INTO t VALUES (1); ROLLBACK")
        try db.execute(sql: "INSERT INTO t VALUES (2)")
      }
    }
    #expect(lost == .abort)
    let caught = code {
      try db.transaction { try db.execute(sql: "INSERT INTO t VALUES (1); ROLLBACK") }
    }
    #expect(caught == .abort)
    #expect(try count(db) == 0)
    try db.transaction { try db.execute(sql: "INSERT INTO t VALUES (3)") }
    #expect(try count(db) == 1)
  }

  @Test func aCachedStatementWorksAgainAfterAnError() throws {
    let folder = try ScratchFolder()
    let db = try Database(path: folder.file)
    try db.execute(sql: "CREATE TABLE t (v INTEGER PRIMARY KEY)")
    for round in 0..<3 as Range<Int64> {
      let insert = { try db.run("INSERT INTO t VALUES (?)") { $0.add(round) } }
      try insert()
      #expect(code { try insert() } == .constraint)
    }
    #expect(try count(db) == 3)
    // One that was left in the middle holds nothing up, and its end does not stop its next use.
    let rows = try db.cachedStatement(sql: "SELECT v FROM t ORDER BY v")
    var old: Row? = try Row.fetchCursor(rows).next()
    #expect(old?[0] as Int? == 0)
    let cursor = try Row.fetchCursor(rows)
    #expect(try cursor.next()?[0] as Int? == 0)
    old = nil
    #expect(try cursor.map { $0[0] as Int } == [1, 2])
    try db.execute(sql: "DROP TABLE t")
    #expect(code { _ = try Row.fetchAll(rows) } != nil)
  }

  @Test func foreignKeysAndQuotesAreStrict() throws {
    let folder = try ScratchFolder()
    let db = try Database(path: folder.file)
    try db.execute(
      sql: "CREATE TABLE a (v INTEGER PRIMARY KEY); CREATE TABLE b (v REFERENCES a (v) ON DELETE CASCADE)")
    #expect(code { try db.execute(sql: "INSERT INTO b VALUES (1)") } == .constraint)
    #expect(code { try db.execute(sql: "SELECT \"nothing\" FROM a") } == ResultCode(rawValue: 1))
  }

  @Test func errorsHaveTheirCodes() throws {
    let folder = try ScratchFolder()
    #expect(code { _ = try Database(path: folder.path + "/none/a.sqlite") } == .cannotOpen)
    #expect(code { _ = try Database(path: folder.file, .readOnly) } == .cannotOpen)
    try Data(repeating: 0x55, count: 8192).write(to: URL(fileURLWithPath: folder.file))
    #expect(code { _ = try Database(path: folder.file) } == .notADatabase)
    try FileManager.default.removeItem(atPath: folder.file)
    let db = try Database(path: folder.file, busyTimeout: 0)
    try db.execute(sql: "CREATE TABLE t (v)")
    let reader = try Database(path: folder.file, .readOnly)
    #expect(code { try reader.execute(sql: "INSERT INTO t VALUES (1)") } == .readOnly)
    let other = try Database(path: folder.file, busyTimeout: 0)
    try other.transaction {
      #expect(code { try db.transaction { try db.execute(sql: "INSERT INTO t VALUES (1)") } } == .busy)
    }
    try db.execute(sql: "PRAGMA max_page_count = 2")
    let blob = [UInt8](repeating: 1, count: 100_000)
    #expect(
      code { try db.transaction { try db.execute(sql: "INSERT INTO t VALUES (?)", arguments: [blob]) } }
        == .full)
    #expect(try count(db) == 0)
    let rows = try Row.fetchCursor(db, sql: "SELECT 1")
    #expect(code { try db.close() } == .busy)
    withExtendedLifetime(rows) {}
  }
}
