import Dispatch
import Locks

/// A writer and some readers of a file with a write-ahead log. Readers do not wait for the writer, and each read sees one
/// snapshot.
///
/// Calls may come from any thread, and not from inside one another on the writer.
package final class DatabasePool: @unchecked Sendable {
  // Unchecked: `turn` gives the writer, and `free` each reader, to one thread at a time.
  private let path: String
  private let writer: Database
  private let turn = DispatchSemaphore(value: 1)
  private let idle = Locked<[Reader]>([])
  private let free: DispatchSemaphore
  private let prepareReader: @Sendable (Database) throws -> Void

  private struct Reader: @unchecked Sendable { let connection: Database }

  /// - Parameter prepareReader: called with each reader when it is opened.
  package init(
    path: String, readers: Int, prepareReader: @escaping @Sendable (Database) throws -> Void = { _ in }
  ) throws {
    self.path = path
    self.prepareReader = prepareReader
    free = DispatchSemaphore(value: readers)
    writer = try Database(path: path)
    try writer.useWAL()
  }

  deinit {
    // The writer is closed last: only it may write the log back.
    idle.withLock { $0 = [] }
  }

  /// Reads one snapshot of the database.
  package func read<Value>(_ body: (Database) throws -> Value) throws -> Value {
    free.wait()
    defer { free.signal() }
    let reader = try idle.withLock { $0.popLast() } ?? open()
    defer { idle.withLock { $0.append(reader) } }
    return try reader.connection.transaction(.deferred) { try body(reader.connection) }
  }

  private func open() throws -> Reader {
    let connection = try Database(path: path, .readOnly)
    try prepareReader(connection)
    return Reader(connection: connection)
  }

  /// Writes in a transaction: all of it is committed, or nothing where `body` throws.
  package func write<Value>(_ body: (Database) throws -> Value) throws -> Value {
    try writeWithoutTransaction { db in try db.transaction { try body(db) } }
  }

  package func writeWithoutTransaction<Value>(_ body: (Database) throws -> Value) rethrows -> Value {
    turn.wait()
    defer { turn.signal() }
    return try body(writer)
  }
}
