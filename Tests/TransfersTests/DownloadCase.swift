import JobModel
import Testing

/// What tests of downloads share: one file behind a server that can be made to err, and how a download must end.
protocol DownloadCase {}

extension DownloadCase {
  var content: [UInt8] { pattern(10_500) }

  func server(_ change: (inout FakeServer.State) -> Void = { _ in }) -> FakeServer {
    FakeServer { state in
      state.files["a"] = content
      change(&state)
    }
  }

  func run(
    _ rig: Rig, _ server: FakeServer, expect: JobModel.Expectation = JobModel.Expectation(),
    instead: @escaping @Sendable (Sent) -> Reply? = { _ in nil },
    after: @escaping @Sendable (Sent, Reply) -> Reply = { $1 }
  ) async throws -> Rig.Outcome {
    try await rig.run(from: "http://h/f/a", to: "out/a", expect: expect) { sent in
      instead(sent) ?? after(sent, server.response(sent))
    }
  }

  /// Ended well: the file is there, no part file is, the digest on record is the file's.
  func checkComplete(
    _ rig: Rig, _ outcome: Rig.Outcome, _ bytes: [UInt8]? = nil, _ location: SourceLocation = #_sourceLocation
  ) {
    #expect(
      outcome.state == .completed, "\(String(describing: outcome.progress.failure))", sourceLocation: location
    )
    #expect(rig.read("out/a") == bytes ?? content, sourceLocation: location)
    #expect(rig.files == ["out/a"], sourceLocation: location)
    #expect(
      outcome.progress.digests[.sha256] == FakeServer.sha256(bytes ?? content), sourceLocation: location)
  }

  func checkFailed(
    _ rig: Rig, _ outcome: Rig.Outcome, _ code: ErrorCode, _ location: SourceLocation = #_sourceLocation
  ) {
    #expect(outcome.code == code, "\(String(describing: outcome.progress.failure))", sourceLocation: location)
    if code.isRetryable {
      #expect(outcome.state == .paused(.retries), sourceLocation: location)
    } else {
      #expect(outcome.state == .failed, sourceLocation: location)
    }
    if code.partial == .dropped {
      #expect(rig.files.isEmpty, "the part file is left", sourceLocation: location)
    }
  }
}
