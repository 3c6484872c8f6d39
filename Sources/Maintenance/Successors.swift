import JobLedger
import JobModel
import Transfers

/// Uploads that left the manifest as completed, and others that have their destinations now: what was put there need not
/// be sent again where the content is the same.
enum Successors {
  private static let page = 50_000

  static func inherit(_ context: MaintenanceContext) throws {
    var last: Int64 = 0
    while true {
      let found = try context.run.ledger.successions(after: last, limit: page)
      guard let end = found.last else { return }
      last = end.old
      try context.run.ledger.inherit(found.filter { isSameStore($0, context) })
    }
  }

  private static func isSameStore(_ one: Succession, _ context: MaintenanceContext) -> Bool {
    guard case .remote(let name, _) = one.destination, let endpoint = one.endpoint else { return true }
    do { return try context.formerEndpoint(name, endpoint) == nil } catch { return false }
  }
}
