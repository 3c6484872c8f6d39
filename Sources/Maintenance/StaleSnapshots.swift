import Glibc
import JobLedger
import JobModel
import Posix
import Transfers

/// Copies of sources that a killed attempt left behind: only an upload with an open session goes on from its copy.
package enum StaleSnapshots {
  package static func clear(_ context: MaintenanceContext) throws {
    let folder = context.local.stateFolder + "/snapshots"
    var names = Set((try? Files.names(in: folder)) ?? [])
    var last: Int64 = 0
    while !names.isEmpty {
      let page = try context.run.ledger.page(after: last, onlyTouched: false, limit: 256)
      guard let end = page.last else { break }
      last = end.seq
      for transfer in page where transfer.progress.session != nil {
        names.remove(context.run.tag(transfer.id))
      }
    }
    for name in names { unlink(folder + "/" + name) }
  }
}
