import Endpoints
import Foundation
import JobModel
import Testing

@testable import HTTPClient

extension EndpointContract {
  /// Writing through a `RemoteSink`.
  struct UploadContractTests {
    @Test(arguments: EndpointCase.able(.uploads)) func everySizeIsSent(_ kind: EndpointCase) async throws {
      try await kind.run { client in
        for size in EndpointCase.sizes(around: kind.chunk) where size > 0 || kind.can(.emptyUploads) {
          let content = kind.content(size)
          let path = client.freshName()
          let sink = try client.sink(path)
          var sending = try await Sending(content, to: sink, chunk: kind.chunk)
          try await sending.putAll()
          let file = try await sending.complete()
          #expect(try await client.server.digest(path, file) == content.sha256, "\(size)")
          for (algorithm, told) in file.digests { #expect(told == content.digest(algorithm)) }
          if case .object(let object, _)? = try await sink.inspect(
            file, source: sending.source, chunks: sending.chunks)
          {
            #expect(object.size == nil || object.size == size)
          }
          guard kind.claims(.readBack) == kind.can(.readBack) else {
            await #expect(throws: Failure.self) { _ = try await sink.readBack(file) { _ in } }
            continue
          }
          let back = try await sink.readBack(file) { _ in }
          #expect(back?.digest == (kind.can(.readBack) ? content.sha256 : nil))
        }
      }
    }

    /// Another process goes on, by the server's word where it gives one, else by the records.
    @Test(arguments: EndpointCase.able(.uploads, .sessions)) func anUploadResumes(
      _ kind: EndpointCase
    ) async throws {
      try await kind.run { client in
        let content = kind.content(2 * kind.chunk + 7)
        let path = client.freshName()
        var sending = try await Sending(content, to: try client.sink(path), chunk: kind.chunk)
        try await sending.put(0)
        // The first one's sink goes, and what it has open with it.
        sending = Sending(sending, at: try client.sink(path))
        if kind.can(.holdings) { #expect(try await sending.held() == [0]) }
        try await sending.putAll(but: [0])
        let file = try await sending.complete()
        #expect(try await client.server.digest(path, file) == content.sha256)
      }
    }

    @Test(arguments: EndpointCase.able(.uploads, .http)) func theAnswerToAChunkIsLost(
      _ kind: EndpointCase
    ) async throws {
      try await kind.run { client in
        let content = kind.content(2 * kind.chunk + 7)
        let path = client.freshName()
        var sending = try await Sending(content, to: try client.sink(path), chunk: kind.chunk)
        client.network.set(.lostAnswer(toChunk: true))
        let failure = await #expect(throws: (any Error).self) { try await sending.put(0) }
        #expect(failure.map { Failure($0).class } == .transient && !client.network.isArmed)
        let held = try await sending.held()
        if kind.can(.holdings) { #expect(held == [0], "it has arrived") }
        // One that counts bytes takes none of them twice; all others take the same chunk again.
        let isByOffset = sending.sink.traits.abilities(of: content.size).order == .byOffset
        try await sending.putAll(but: isByOffset ? held ?? [] : [])
        let file = try await sending.complete()
        #expect(try await client.server.digest(path, file) == content.sha256)
      }
    }

    /// The upload is there all the same: the end can be asked for again, or the session is gone.
    @Test(arguments: EndpointCase.able(.uploads, .http, .closing)) func theAnswerToTheEndIsLost(
      _ kind: EndpointCase
    ) async throws {
      try await kind.run { client in
        let content = kind.content(2 * kind.chunk + 7)
        let path = client.freshName()
        var sending = try await Sending(content, to: try client.sink(path), chunk: kind.chunk)
        try await sending.putAll()
        client.network.set(.lostAnswer(toChunk: false))
        let failure = await #expect(throws: (any Error).self) { _ = try await sending.complete() }
        #expect(failure.map { Failure($0).class } == .transient && !client.network.isArmed)
        do {
          let file = try await sending.complete()
          for (algorithm, told) in file.digests { #expect(told == content.digest(algorithm)) }
        } catch { #expect(Failure(error).class == .sessionGone) }
        let file = UploadedFile(remoteID: sending.session?.facts["key"])
        #expect(try await client.server.digest(path, file) == content.sha256)
        guard kind.can(.looks) else { return }
        guard case .object(let found, _)? = try await sending.sink.look(.once) else {
          Issue.record("nothing is found where the upload went")
          return
        }
        #expect(found.size == (kind.can(.probedSize) ? content.size : nil))
      }
    }

    @Test(arguments: EndpointCase.able(.uploads, .sessions)) func aGoneSessionIsTold(
      _ kind: EndpointCase
    ) async throws {
      try await kind.run { client in
        let path = client.freshName()
        var sending = try await Sending(
          kind.content(2 * kind.chunk + 7), to: try client.sink(path), chunk: kind.chunk)
        try await sending.put(0)
        if kind.can(.abort) {
          #expect(try await client.sink(path).abort(#require(sending.session)) == nil)
        } else {
          sending.session?.id = "no-such-session"
        }
        if kind.can(.opening) {
          let put = await #expect(throws: Failure.self) { try await sending.put(1) }
          #expect((put?.class == .sessionGone) == kind.can(.goneSessions), "\(String(describing: put))")
        }
        if kind.can(.holdings) {
          let asked = await #expect(throws: Failure.self) { _ = try await sending.held() }
          #expect(asked?.class == .sessionGone, "\(String(describing: asked))")
        }
        if kind.can(.closing) {
          let closed = await #expect(throws: Failure.self) { _ = try await sending.complete() }
          #expect((closed?.class == .sessionGone) == kind.can(.goneSessions), "\(String(describing: closed))")
        }
      }
    }

    @Test(arguments: EndpointCase.able(.uploads, .abort)) func nothingIsOpenAfterAnAbort(
      _ kind: EndpointCase
    ) async throws {
      try await kind.run { client in
        let path = client.freshName()
        let sink = try client.sink(path)
        var sending = try await Sending(kind.content(2 * kind.chunk + 7), to: sink, chunk: kind.chunk)
        for index in sending.order.dropLast() { try await sending.put(index) }
        let session = try #require(sending.session)
        #expect(try await sink.hasty().abort(session) == nil)
        #expect(try await sink.hasty().abort(session) == nil, "it may be asked for again")
        if kind.can(.looks) {
          guard case .nothing? = try await sink.look(.once) else {
            Issue.record("there is something where the upload went")
            return
          }
        }
        guard let folder = client.server.folder else { return }
        let left = try FileManager.default.contentsOfDirectory(atPath: folder).filter {
          $0.contains(path + ".")
        }
        #expect(left.isEmpty)
      }
    }

    /// A chunk is refused, told with another digest, or found out by its receipt, and can be sent again.
    @Test(arguments: EndpointCase.able(.uploads)) func aDamagedChunkIsNoticed(_ kind: EndpointCase)
      async throws
    {
      try await kind.run { client in
        let content = kind.content(2 * kind.chunk + 7)
        let path = client.freshName()
        var sending = try await Sending(content, to: try client.sink(path), chunk: kind.chunk)
        let first = try #require(sending.order.first)
        var isNoticed = false
        do {
          try await sending.put(first, isDamaged: true)
        } catch let failure as Failure {
          isNoticed = true
          #expect(failure.class == .damaged(chunk: first))
        }
        for index in sending.order.dropFirst() where !isNoticed { try await sending.put(index) }
        let unverified = sending.sink.traits.rejectedChunks(sending.chunks).map(\.offset)
        #expect(
          (isNoticed || unverified == [sending.layout.range(first).lowerBound]) == kind.can(.chunkProof))
        guard kind.can(.chunkProof) else { return }
        if isNoticed { try await sending.putAll() } else { try await sending.put(first) }
        let file = try await sending.complete()
        #expect(try await client.server.digest(path, file) == content.sha256)
      }
    }

    @Test(arguments: EndpointCase.able(.uploads, .sessions)) func aWrongFileDigestIsNoticed(
      _ kind: EndpointCase
    ) async throws {
      try await kind.run { client in
        let content = kind.content(2 * kind.chunk + 7)
        let path = client.freshName()
        let other = kind.content(content.size, seed: 2)
        var sending = try await Sending(content, to: try client.sink(path), chunk: kind.chunk) { source in
          for algorithm in source.digests.keys { source.digests[algorithm] = other.digest(algorithm) }
        }
        try await sending.putAll()
        var isNoticed = false
        do { _ = try await sending.complete() } catch let failure as Failure {
          isNoticed = true
          #expect(failure.class == .damaged(chunk: nil), "\(failure)")
        }
        #expect(isNoticed == kind.can(.fileProof))
      }
    }
  }
}
