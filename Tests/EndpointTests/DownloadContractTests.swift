import Endpoints
import JobModel
import Testing

extension EndpointContract {
  /// Reading through a `RemoteSource`.
  struct DownloadContractTests {
    private static let chunk: Int64 = 64 << 10

    @Test(arguments: EndpointCase.able(.downloads)) func everySizeIsRead(_ kind: EndpointCase) async throws {
      try await kind.run { client in
        for size in EndpointCase.sizes(around: Self.chunk) {
          let content = kind.content(size)
          let source = try client.source(try await client.store(content, as: client.freshName()))
          let isTold = kind.can(.probedSize) && (size > 0 || kind.can(.probedEmptySize))
          #expect(try await source.probe().size == (isTold ? size : nil), "\(size)")
          var reading = try await Reading(source)
          try await reading.readAll(source, chunk: Self.chunk)
          #expect(reading.bytes.count == Int(size))
          let isSame = reading.bytes == content.bytes
          #expect(isSame, "\(size)")
        }
      }
    }

    @Test(arguments: EndpointCase.able(.downloads)) func rangesAreRead(_ kind: EndpointCase) async throws {
      try await kind.run { client in
        let content = kind.content(200_000)
        let source = try client.source(try await client.store(content, as: client.freshName()))
        var known = try await Reading(source)
        try await known.readAll(source, chunk: .max / 2)
        for range in [0..<1, 65_535..<65_537, 199_999..<200_000, 1000..<200_000] as [Range<Int64>] {
          let received = Received()
          try await source.read(range, of: known.object, wantsDigest: false, into: received)
          #expect(received.opening?.extent == .bytes(range))
          let isSame = received.bytes == Array(content.bytes[Int(range.lowerBound)..<Int(range.upperBound)])
          #expect(isSame, "\(range)")
        }
      }
    }

    /// Bytes of two versions never come together.
    @Test(arguments: EndpointCase.able(.downloads)) func aReadIsBoundToAVersion(_ kind: EndpointCase)
      async throws
    {
      try await kind.run { client in
        let name = client.freshName()
        let first = kind.content(200_000)
        let source = try client.source(try await client.store(first, as: name))
        var reading = try await Reading(source)
        try await reading.read(0..<1000, of: source)
        _ = try await client.store(kind.content(200_000, seed: 2), as: name)
        let received = Received()
        try await source.read(50_000..<51_000, of: reading.object, wantsDigest: false, into: received)
        if kind.can(.replacement) {
          #expect(received.opening?.extent == .changed && received.bytes.isEmpty)
        } else {
          #expect(received.bytes == Array(first.bytes[50_000..<51_000]))
        }
      }
    }

    @Test(arguments: EndpointCase.able(.downloads)) func whatIsNotThereIsSaid(_ kind: EndpointCase)
      async throws
    {
      try await kind.run { client in
        let source = try client.source(client.server.missing)
        let probed = await #expect(throws: Failure.self) { try await source.probe() }
        #expect(probed?.class == .permanent && [.notFound, .sourceMissing].contains(probed?.code))
        let read = await #expect(throws: Failure.self) {
          var reading = try await Reading(source)
          try await reading.read(0..<10, of: source)
        }
        #expect(read?.class == .permanent && [.notFound, .sourceMissing].contains(read?.code))
      }
    }

    @Test(arguments: EndpointCase.able(.listings)) func listingsComeInPages(_ kind: EndpointCase) async throws
    {
      try await kind.run { client in
        let prefix = client.freshName() + "/"
        let names = ["1", "2", "3", "4/1", "4/2"]
        for (index, name) in names.enumerated() {
          _ = try await client.store(kind.content(Int64(index)), as: prefix + name)
        }
        var (pages, mark): ([ListedPage], String?) = ([], nil)
        repeat {
          pages.append(try await client.page(mark, of: prefix))
          mark = pages.last?.next
        } while mark != nil
        #expect((pages.count > 1) == kind.can(.shortPages))
        let entries = pages.flatMap(\.entries)
        #expect(entries.map(\.path) == names && entries.map(\.size) == [0, 1, 2, 3, 4])
        let listsVersions = EndpointRegistry.kind(kind.word)?.abilities.listsVersions == true
        #expect(entries.allSatisfy { $0.etag != nil } || !listsVersions)
      }
    }
  }
}
