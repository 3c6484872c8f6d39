package import Endpoints
package import JobModel

/// What servers said of a transfer's ends when they were asked (`--probe`), or in a listing; nothing of those that were not.
package struct ServerWord: Sendable {
  package var source: RemoteObject?
  /// The source's size where its listing tells another one than it told before, in bytes.
  package var listedSize: Int64?
  /// What stands where the upload or copy has put its file.
  package var destination: FoundFile?
  /// Why one of them could not be told.
  package var trouble: ErrorCode?

  package init(
    source: RemoteObject? = nil, listedSize: Int64? = nil, destination: FoundFile? = nil,
    trouble: ErrorCode? = nil
  ) {
    (self.source, self.listedSize, self.destination, self.trouble) = (
      source, listedSize, destination, trouble
    )
  }

  /// Whether the source has still the version that a completed transfer has read, or its bytes, as far as it was told.
  func isSource(of progress: TransferProgress) -> Bool {
    if let source {
      let known = progress.sourceObject ?? progress.remote
      return progress.sourceObject == nil && progress.hasBytes(of: source)
        || known != RemoteObject() && known.isSameVersion(as: source)
    }
    return listedSize == nil || listedSize == progress.size
  }

  /// Whether all was told that a run would ask for.
  func tells(_ direction: Verb) -> Bool {
    if direction.readsRemote, source == nil { return false }
    guard direction.writesRemote else { return true }
    switch destination {
    case .nothing, .object: return true
    case nil, .hidden, .failed: return false
    }
  }

  /// Why the destination of a completed transfer is written again; nil where it stands, or nobody knows.
  func changeOfDestination(since progress: TransferProgress) -> String? {
    switch destination {
    case nil, .hidden, .failed: nil
    case .nothing: "the destination is missing"
    case .object(let seen, _):
      progress.isAtDestination(seen, size: progress.size) ? nil : "the destination is not as it was left"
    }
  }
}
