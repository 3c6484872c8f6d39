package import JobModel
package import LocalFiles

/// Where a run's local files are, and what its transfers share to read and write them.
package struct LocalContext: Sendable {
  /// The manifest's folder, opened: local paths are relative to it.
  package let folder: Folder
  /// The job's folder in the state, for snapshots.
  package let stateFolder: String
  /// Disk reads and hashes.
  package let pool: BlockingPool
  /// What no download may replace: the manifest, and what it has haul read or run.
  let protected: ProtectedFiles
  /// Where no transfer writes: the folders of haul's state.
  let protectedFolders: ProtectedFolders
  /// The transfer of another part of the job that wrote a file; nil where the job is not divided.
  let ownerElsewhere: (@Sendable (FileFacts) -> String?)?
  let claims = DestinationClaims()
  let blocks = BlockPool()
  package let writeback = Writeback()

  package init(
    folder: Folder, stateFolder: String, pool: BlockingPool, protected: ProtectedFiles = ProtectedFiles(),
    protectedFolders: ProtectedFolders = ProtectedFolders(),
    ownerElsewhere: (@Sendable (FileFacts) -> String?)? = nil
  ) {
    self.folder = folder
    self.stateFolder = stateFolder
    self.pool = pool
    self.protected = protected
    self.protectedFolders = protectedFolders
    self.ownerElsewhere = ownerElsewhere
  }

  /// - Parameter path: as the manifest has it.
  func fullPath(_ path: String) -> String {
    RelativePath.absolute(path, in: folder.path)
  }
}
