import Glibc

/// Where the copies of sources lie that `snapshot` asks for, in a job's state.
package struct SnapshotFolder: Sendable {
  private let path: String
  private let job: String

  package init(_ stateFolder: String, job: String) { (path, self.job) = (stateFolder + "/snapshots", job) }

  func make() { mkdir(path, 0o700) }

  func copy(of id: String) -> String { path + "/" + RunContext.tag(id, of: job) }

  /// One is there, whatever the manifest asks for by now.
  package func hasCopy(of id: String) -> Bool { access(copy(of: id), F_OK) == 0 }
}
