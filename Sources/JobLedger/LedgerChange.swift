package import JobModel

/// One thing to be recorded. Changes are handed on from queue to queue: what is larger than the record of a chunk is kept
/// apart.
package enum LedgerChange: Sendable {
  /// A transfer is in this state now.
  case state(seq: Int64, TransferState)
  /// - Parameter isWhole: false where the facts in it are on record already (`TransferProgress.hasFacts`).
  indirect case progress(seq: Int64, TransferProgress, isWhole: Bool = true)
  case chunk(seq: Int64, ChunkRecord)
  /// Forgets all chunks of a transfer.
  case noChunks(seq: Int64)
  /// Forgets the chunks that begin at these offsets.
  case lostChunks(seq: Int64, offsets: [Int64])
  /// These are on the disk.
  case synced([UnsyncedCompletion])
  /// What stands at its destination is not what was completed there: nothing of it can be synced.
  indirect case gone(UnsyncedCompletion)
  /// It can't be brought to the disk: its file's bytes are not to be trusted, whatever memory says.
  indirect case unsyncable(UnsyncedCompletion, TransferState, Failure, at: Double)
  /// Where a download's part file lies, apart from the job's folder.
  case fileSystems(seq: Int64, home: Int64, away: Int64)
  /// The part file that holds a download's recorded chunks; forgotten with them.
  case part(seq: Int64, PartRecord)
  /// A session is about to be opened, or was asked for again.
  indirect case intent(seq: Int64, SessionIntent)
  /// What was asked for is on record, or the server was asked what it opened.
  indirect case answered(seq: Int64, SessionIntent)
  /// Removes a transfer and all that belongs to it.
  case removed(seq: Int64)
  /// Nobody goes on with this session of a transfer; it stays on record, apart from the transfer, until it is ended.
  case abandoned(seq: Int64, RemoteSession)
  /// The server no longer has an abandoned session.
  case ended(seq: Int64, RemoteSession)
  indirect case diagnostic(run: Int, Diagnostic)
  /// So many transfers have said what this diagnostic says, these first.
  indirect case diagnosticCount(run: Int, Diagnostic, message: String, count: Int, ids: [String])
  case events(run: Int, count: Int)
  /// Body bytes that an attempt has moved until a moment, seconds since 1970: what a kill leaves of it, where nothing else is
  /// on record of a transfer before its end.
  case moved(run: Int, bytes: Int64, at: Double)
  /// When nothing moved in a run so far, and why.
  case pauses(run: Int, [RunPause])
  /// How the servers fare that are not asked as freely as the policies let.
  case hosts([HostStanding])
  /// More bytes that moved under a policy in a period of its budget.
  case spent(policy: String, period: String, bytes: Int64)
  /// A server asked for a cool-down until a moment, seconds since 1970; when it asked, where that is known.
  case cooldown(origin: String, until: Double, askedAt: Double? = nil)
  /// What the next run is to know of a host; nil where nothing. At a moment, seconds since 1970.
  case host(origin: String, HostRecord?, at: Double)
  /// Bytes per second on one connection, measured until a moment, seconds since 1970.
  case rate(HostRate, Double, at: Double)
  /// Requests at a time that `connections: auto` came to for a host, at a moment, seconds since 1970.
  case concurrency(origin: String, Int, at: Double)
}

extension LedgerChange {
  /// Says only that a transfer runs.
  var isStart: Bool {
    if case .state(_, .running) = self { true } else { false }
  }
}
