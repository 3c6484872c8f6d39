import JobModel
import SQLite

/// The transfers that say the same, as the ledger keeps them: the first few, and how many there are.
enum DiagnosticSubjects {
  static func json(_ ids: [String]) -> String { JSON.array(ids.map { .string($0) }).text }

  /// Rows of one cause as one diagnostic: the attempts of a run each begin a row of their own.
  static func merge(_ rows: [Row]) -> [RecordedDiagnostic] {
    struct Merged {
      var first: RecordedDiagnostic
      var ids: [String]
      var count: Int
    }
    var merged: [RecordedDiagnostic: Merged] = [:]
    var order: [RecordedDiagnostic] = []
    for row in rows {
      let own = RecordedDiagnostic(
        severity: row["severity"], message: row["message"], place: row["place"], hint: row["hint"])
      let text: String = row["subjects"]
      let ids = JSON(Array(text.utf8))?.strings ?? []
      var key = own
      if let id = ids.first { key.message = CauseMessage.general(own.message, id: id) }
      guard var known = merged[key] else {
        merged[key] = Merged(first: own, ids: ids, count: row["count"])
        order.append(key)
        continue
      }
      if known.first.message != own.message { known.first.message = key.message }
      let news = ids.filter { !known.ids.contains($0) }
      // Up to three are told apart; of more, each attempt counts its own.
      known.count += known.count <= known.ids.count ? news.count : row["count"]
      known.ids += news.prefix(max(0, CauseTally.named - known.ids.count))
      merged[key] = known
    }
    return order.compactMap { key in
      guard let one = merged[key] else { return nil }
      var told = one.first
      if one.count > 1, !one.ids.isEmpty {
        let names = CauseTally.names(one.ids, of: one.count)
        told.message = "\(one.count) transfers: \(one.first.message) (\(names))"
      } else if let id = one.ids.first {
        told.message = "\(id): \(one.first.message)"
      }
      return told
    }
  }
}
