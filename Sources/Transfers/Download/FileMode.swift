import JobModel
import LocalFiles

/// The permission bits of a finished file. Some file systems refuse every mode (exFAT by FUSE, some network mounts).
struct FileMode: Sendable {
  /// nil as the umask has them.
  private let bits: UInt16?
  /// The manifest gives them, or has `mode!`.
  private let isDemanded: Bool

  init(_ bits: UInt16?, _ settings: TransferSettings) {
    self.bits = bits
    isDemanded = settings.mode != nil || settings.preserve.demanded.contains(.mode)
  }

  /// Refuses to go on with a part file, its owner's alone as it stays, where a demanded mode would fail behind its rename.
  ///
  /// - Parameter path: the finished file's.
  func expectTaken(by part: PartFile, at path: String) throws(Failure) {
    if isDemanded { try part.file.setMode(0o600, of: path) }
  }

  /// Gives the file its mode.
  ///
  /// - Returns: why it goes without, where nobody demands it: its bytes are right all the same.
  func give(to file: OpenFile, at path: String) throws(Failure) -> Failure? {
    do throws(Failure) {
      try file.setMode(bits, of: path)
      return nil
    } catch {
      guard !isDemanded else { throw error }
      return error
    }
  }
}

extension TransferRecord {
  /// Notes that the file goes without its mode.
  func note(withoutMode failure: Failure) {
    var kept = progress.attributes
    if kept.preserved.remove(.mode) != nil {
      kept.lost.insert(.mode)
      note(.attributes(kept))
    }
    warn("\(failure.message): it keeps the one that the file system gave it")
  }
}
