import Glibc
import JobLedger
import JobModel
import Transfers

/// Copies of sources that a killed attempt left behind: only an upload with an open session goes on from its copy.
package enum StaleSnapshots {
  package static func clear(_ context: MaintenanceContext) throws {
    let folder = context.local.stateFolder + "/snapshots"
    var names = Set(list(folder))
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

  private static func list(_ folder: String) -> [String] {
    guard let stream = opendir(folder) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }
}
