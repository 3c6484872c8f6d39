import SQLite
import Testing

struct MigratorTests {
  private var migrator: Migrator {
    var migrator = Migrator()
    migrator.registerMigration("1") { try $0.execute(sql: "CREATE TABLE a (v INTEGER PRIMARY KEY)") }
    migrator.registerMigration("2") {
      try $0.execute(sql: "CREATE TABLE b (v REFERENCES a (v) ON DELETE CASCADE)")
    }
    // A table that others refer to is made anew: the rows that refer to it stay.
    migrator.registerMigration("3") {
      try $0.execute(
        sql: """
          CREATE TABLE c (v INTEGER PRIMARY KEY, w); INSERT INTO c SELECT v, 7 FROM a;
          DROP TABLE a; ALTER TABLE c RENAME TO a
          """)
    }
    return migrator
  }

  /// As the library left it that haul used before: its table is read and gone on with.
  @Test func goesOnWhereAnotherLeftOff() throws {
    let folder = try ScratchFolder()
    let db = try Database(path: folder.file)
    #expect(try migrator.appliedIdentifiers(db) == [])
    try db.execute(
      sql: """
        CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
        INSERT INTO grdb_migrations VALUES ('1'), ('2');
        CREATE TABLE a (v INTEGER PRIMARY KEY); INSERT INTO a VALUES (1);
        CREATE TABLE b (v REFERENCES a (v) ON DELETE CASCADE); INSERT INTO b VALUES (1);
        """)
    for _ in 0..<2 {
      try migrator.migrate(db)
      #expect(try migrator.appliedIdentifiers(db) == ["1", "2", "3"])
      #expect(try Int.fetchAll(db, sql: "SELECT w FROM a JOIN b USING (v)") == [7])
    }
    #expect(try Int.fetchOne(db, sql: "PRAGMA foreign_keys") == 1)
  }

  @Test func aStepThatFailsLeavesNothing() throws {
    let folder = try ScratchFolder()
    let db = try Database(path: folder.file)
    try migrator.migrate(db, upTo: "2")
    #expect(try migrator.appliedIdentifiers(db) == ["1", "2"])
    for body in ["CREATE TABLE d (v); SELECT nothing", "CREATE TABLE d (v); INSERT INTO b VALUES (9)"] {
      var broken = migrator
      broken.registerMigration("4") { try $0.execute(sql: body) }
      #expect(throws: DatabaseError.self) { try broken.migrate(db) }
      #expect(try migrator.appliedIdentifiers(db) == ["1", "2", "3"])
      #expect(try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master WHERE name = 'd'") == 0)
      #expect(try Int.fetchOne(db, sql: "PRAGMA foreign_keys") == 1)
    }
  }
}
