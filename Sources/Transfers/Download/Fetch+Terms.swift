import JobModel

extension Fetch {
  /// What is settled before the download begins.
  struct Terms {
    var chunkSize: ChunkSize
    var chunksInFlight: Int
    var verify = VerifyLevel.available
    var expect = Expectation()
    /// Of the host when the work began, in bytes per second.
    var rate: Double?
    /// Names the source in messages.
    var place: String
    var promisedDigests: Set<DigestAlgorithm> = []
    /// As of `RemoteSource`; false where the object is known to be empty, as it has no first byte.
    var firstRangeDescribes = false
    /// As of `RemoteSource`.
    var promisesRanges = true
    /// As of `RemoteSource`.
    var pinned: (RemoteObject) -> RemoteObject? = { _ in nil }
  }

  /// Of the progress on record, what decisions rest on.
  struct Known {
    var remote = RemoteObject()
    var chunkSize: Int64?
    var automaticChunk: Int64?
    var chunksTotal = 0
    var freshStarts = 0
    /// Bytes of this run that were of use when the work began.
    var useful: Int64 = 0
  }
}
