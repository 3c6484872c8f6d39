package import JobModel
import SQLite

extension JobLedger {
  /// The paths on an endpoint of transfers that are queued behind a row or run, in no order, and the last row that was read
  /// for them; of a run that was asked for some transfers alone, of these.
  ///
  /// - Parameter limit: of rows that are read, whatever their endpoint.
  package func remotesToCome(
    at endpoint: String, _ direction: Direction, after seq: Int64, limit: Int
  ) throws -> (paths: [String], lastRow: Int64) {
    let column = direction == .download ? "source" : "destination"
    let selected = """
      (NOT EXISTS (SELECT 1 FROM meta WHERE name = '\(Self.owner)') OR seq IN (SELECT transfer FROM selected))
      """
    return try read { db in
      var paths: [String] = []
      var last = seq
      // In the words of the two indexes.
      for (isQueued, condition) in [
        (true, "state = 'queued' AND seq > ?1"),
        (false, "state IN ('running', 'paused') AND state = 'running' AND ?1 IS NOT NULL"),
      ] {
        let rows = try Row.fetchCursor(
          db.cachedStatement(
            sql: """
              SELECT seq, \(column) FROM transfer WHERE \(condition) AND live = 1 AND \(selected)
              ORDER BY seq LIMIT ?2
              """), arguments: [seq, limit])
        while let row = try rows.next() {
          if isQueued { last = row[0] }
          if case .remote(endpoint, let path) = Place(row[1] as String) { paths.append(path) }
        }
      }
      return (paths, last)
    }
  }
}
