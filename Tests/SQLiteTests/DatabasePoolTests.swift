import SQLite
import Testing

struct DatabasePoolTests {
  private func pool(_ folder: ScratchFolder) throws -> DatabasePool {
    let pool = try DatabasePool(path: folder.file, readers: 2)
    try pool.write { try $0.execute(sql: "CREATE TABLE t (v); INSERT INTO t VALUES (0)") }
    return pool
  }

  private func count(_ db: Database) throws -> Int {
    try Int.fetchOne(db, sql: "SELECT count(*) FROM t") ?? 0
  }

  @Test func aReaderSeesOneSnapshotDuringWrites() throws {
    let folder = try ScratchFolder()
    let pool = try pool(folder)
    try pool.read { db in
      #expect(try count(db) == 1)
      try pool.write { try $0.execute(sql: "INSERT INTO t VALUES (1)") }
      #expect(try count(db) == 1)
      #expect(try pool.read(count) == 2)
    }
    #expect(try pool.read(count) == 2)
    #expect(throws: DatabaseError.self) { try pool.read { try $0.execute(sql: "INSERT INTO t VALUES (2)") } }
    #expect(try pool.read(count) == 2)
  }

  @Test func manyThreadsReadAndWrite() async throws {
    let folder = try ScratchFolder()
    let pool = try pool(folder)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<50 {
            try pool.write { db in
              try db.execute(sql: "INSERT INTO t VALUES (1)")
              try db.execute(sql: "INSERT INTO t VALUES (2)")
            }
            // Both of a commit or none.
            #expect(try pool.read { try count($0) } % 2 == 1)
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try pool.read(count) == 801)
  }

  /// The writer, the last to be closed, writes the log back and removes it.
  @Test func closingLeavesOneFile() throws {
    let folder = try ScratchFolder()
    do {
      let pool = try pool(folder)
      #expect(try pool.read(count) == 1)
      #expect(try folder.files() == ["a.sqlite", "a.sqlite-shm", "a.sqlite-wal"])
    }
    #expect(try folder.files() == ["a.sqlite"])
  }
}
