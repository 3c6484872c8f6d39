extension UploadSession {
  /// Checks and publishes the upload; repeated after success, answers the same.
  ///
  /// - Parameter claimed: the client's digest of the whole file, in lower-case hexadecimal.
  func finish(claimed: String?, publisher: Publisher) async throws -> SessionRecord {
    while true {
      try requireLive()
      let record = self.record
      if let digest = record.finishedSha256 {
        try compare(claimed, digest)
        return record
      }
      let missing = self.missing
      guard missing.isEmpty else {
        var problem = Problem(
          409, "CHUNKS_MISSING", "\(missing.count) of \(record.chunkCount) chunks are missing")
        problem.missing = missing
        throw problem
      }
      // One at a time; a client that lost patience and asks again waits for the first one's outcome.
      if let running = state.withLock({ $0.finishing }) {
        await running.value
        continue
      }
      return try await finishNow(record, claimed: claimed, publisher: publisher)
    }
  }

  /// Starts what makes the upload a file, where nobody else has meanwhile.
  func finishNow(
    _ record: SessionRecord, claimed: String?, publisher: Publisher
  ) async throws -> SessionRecord {
    let work = state.withLock { state -> Task<SessionRecord, any Error>? in
      // The caller looked a moment ago. A second one beside or behind the first would take back what that published.
      guard state.finishing == nil, state.record.finishedSha256 == nil, state.record.replacedBy == nil,
        !state.isGone
      else { return nil }
      // Not a child of the request: a client that goes away must not stop it half-way.
      let work = Task { () throws -> SessionRecord in
        let digest = try await self.hasher.finish()
        let text = Hex.encode(digest)
        try self.compare(claimed, text)
        try self.compare(record.fileHashSha256, text)
        return try await publisher.publish(self, digest)
      }
      state.finishing = Task { _ = await work.result }
      return work
    }
    guard let work else { return try await finish(claimed: claimed, publisher: publisher) }
    defer { state.withLock { $0.finishing = nil } }
    return try await work.value
  }

  private func compare(_ claimed: String?, _ actual: String) throws {
    guard let claimed, claimed != actual else { return }
    var problem = Problem(
      422, "INTEGRITY_MISMATCH", "the chunks together have another SHA-256 than was promised")
    (problem.expected, problem.actual) = (claimed, actual)
    throw problem
  }
}
