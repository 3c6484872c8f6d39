package import Endpoints
internal import JobModel

/// The folders of haul's own state, which no download's destination may lie in. They need not be there yet.
package struct StateFolders: Sendable {
  /// Absolute, links resolved.
  private let folders: [String]
  /// The job's own folder.
  let directory: String

  /// - Parameters:
  ///   - root: the folder of all jobs' state.
  ///   - jobs: the folders in it that hold a job's state. Where the manifest lies in the root as well, these are
  ///     protected, and the rest of the root is not.
  /// - Returns: nil where no destination of the job can lie in one of them.
  package init?(root: String, jobs: @autoclosure () -> [String], for job: Job) {
    directory = job.directory
    let (root, home) = (RealPath.of(root), RealPath.of(job.directory))
    folders = RealPath.lies(home, in: root) ? jobs().map(RealPath.of) : [root]
    let leavesHome = job.templates.contains { template in
      template.settings.values.contains(where: \.allowsOutside)
        || template.rowSettings.contains { $0.setting == .allowsOutside }
    }
    guard leavesHome || meet(home) else { return nil }
  }

  /// Whether a folder is one of them or lies below one.
  ///
  /// - Parameter folder: absolute, links resolved.
  func hold(_ folder: String) -> Bool { folders.contains { RealPath.lies(folder, in: $0) } }

  /// Whether a folder lies below one of them, or one of them below it.
  func meet(_ folder: String) -> Bool {
    folders.contains { RealPath.lies(folder, in: $0) || RealPath.lies($0, in: folder) }
  }

  static func refusal(_ path: String) -> (message: String, hint: String) {
    (
      "the destination `\(path)` lies in the folder of haul's own state, where no transfer may write",
      "write another path, or keep the state elsewhere with --state-dir"
    )
  }
}
