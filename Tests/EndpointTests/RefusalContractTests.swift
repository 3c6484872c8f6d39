import Endpoints
import JobModel
import Testing

extension EndpointContract {
  /// What a refusal means for the next step (`FailureClass`).
  struct RefusalContractTests {
    private static let meanings: [(status: Int, class: FailureClass)] = [
      (401, .denied), (403, .denied), (404, .permanent), (429, .transient), (503, .transient),
    ]

    @Test(arguments: EndpointCase.able(.http), meanings) func aReadIsRefused(
      _ kind: EndpointCase, _ meaning: (status: Int, class: FailureClass)
    ) async throws {
      try await kind.run { client in
        let source = try client.source(try await client.store(kind.content(1000), as: client.freshName()))
        client.network.set(.status(meaning.status))
        let probed = await #expect(throws: Failure.self) { try await source.probe() }
        #expect(probed?.class == meaning.class && probed?.httpStatus == meaning.status)
        let read = await #expect(throws: Failure.self) {
          try await source.read(0..<10, of: RemoteObject(), wantsDigest: false, into: Received())
        }
        #expect(read?.class == meaning.class && read?.httpStatus == meaning.status)
      }
    }

    @Test(arguments: EndpointCase.able(.http, .uploads), meanings) func anUploadIsRefused(
      _ kind: EndpointCase, _ meaning: (status: Int, class: FailureClass)
    ) async throws {
      try await kind.run { client in
        let sink = try client.sink(client.freshName())
        client.network.set(.status(meaning.status))
        let failure = await #expect(throws: Failure.self) {
          var sending = try await Sending(kind.content(kind.chunk + 1), to: sink, chunk: kind.chunk)
          try await sending.put(0)
        }
        #expect(failure?.class == meaning.class && failure?.httpStatus == meaning.status)
      }
    }

    @Test(arguments: EndpointCase.able(.credentials)) func anExpiredCredentialIsRenewed(
      _ kind: EndpointCase
    ) async throws {
      let (path, stale, fresh) = try await Self.stored(kind)
      try await kind.run(credentials: [stale, fresh]) { client in
        let object = try await client.source(path).probe()
        #expect(object.isIdentified)
      }
      guard kind.can(.uploads) else { return }
      try await kind.run(credentials: [stale, fresh]) { client in
        let sink = try client.sink(client.freshName())
        var sending = try await Sending(kind.content(kind.chunk + 1), to: sink, chunk: kind.chunk)
        try await sending.put(0)
      }
    }

    @Test(arguments: EndpointCase.able(.credentials)) func aWrongCredentialIsRefused(
      _ kind: EndpointCase
    ) async throws {
      let (path, stale, _) = try await Self.stored(kind)
      let meanings: [FailureClass?] = [.denied, .credentialExpired]
      try await kind.run(credentials: [stale]) { client in
        let read = await #expect(throws: Failure.self) {
          try await client.source(path).read(
            0..<10, of: RemoteObject(), wantsDigest: false, into: Received())
        }
        #expect(meanings.contains(read?.class), "\(String(describing: read))")
        guard kind.can(.uploads) else { return }
        let sent = await #expect(throws: Failure.self) {
          let sink = try client.sink(client.freshName())
          var sending = try await Sending(kind.content(kind.chunk + 1), to: sink, chunk: kind.chunk)
          try await sending.put(0)
        }
        #expect(meanings.contains(sent?.class), "\(String(describing: sent))")
      }
    }

    /// An object of another client, and the server's secrets.
    private static func stored(
      _ kind: EndpointCase
    ) async throws -> (path: String, stale: String, fresh: String) {
      let client = try Client(kind, #require(Lab.current))
      let path = try await client.store(kind.content(1000), as: client.freshName())
      return (path, try #require(client.server.stale), client.server.fresh)
    }
  }
}
