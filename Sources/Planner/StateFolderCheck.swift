internal import JobModel

/// Tells of many folders whether downloads may write there.
package final class StateFolderCheck {
  private let state: StateFolders
  private let places: RealFolders
  /// Of the last folder that was asked for, as most rows share their folders.
  private var last: (folder: ByteText, isHeld: Bool)?
  /// A folder that is not there, with nothing of haul's state to come below it; ends in `/`.
  private var free: String?

  package init(_ state: StateFolders) {
    self.state = state
    places = RealFolders(below: state.directory)
  }

  /// Whether a folder is one of haul's own state or lies below one.
  ///
  /// - Parameter folder: ends in `/`: absolute, or below the job's folder, which is empty.
  package func holds(_ folder: String) -> Bool {
    if let last, last.folder == ByteText(folder) { return last.isHeld }
    if let free, folder.utf8.starts(with: free.utf8), RealFolders.isPlain(folder) { return false }
    let isHeld = state.hold(places.path(of: folder))
    if let absent = places.absent, !state.meet(places.path(of: absent)) { free = absent }
    last = (ByteText(folder), isHeld)
    return isHeld
  }
}
