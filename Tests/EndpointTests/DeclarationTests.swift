import Endpoints
import JobModel
import Testing

@testable import HTTPClient

extension EndpointContract {
  /// What a row says that its kind can't do is what the kind says itself.
  struct DeclarationTests {
    @Test func eachKindHasARow() {
      #expect(Set(EndpointCase.all.map(\.word)) == Set(EndpointRegistry.words + ["local"]))
      #expect(Set(EndpointCase.all.map(\.name)).count == EndpointCase.all.count)
    }

    @Test(arguments: EndpointCase.all) func theKindSaysWhatItLacks(_ kind: EndpointCase) async throws {
      try await kind.run { client in
        let abilities = client.server.endpoint?.driver.abilities ?? EndpointAbilities()
        #expect((abilities.refused[.upload] == nil) == kind.claims(.uploads))
        #expect(
          abilities.refused[.download] == nil, "a kind that gives no downloads needs an ability of its own")
        #expect(abilities.lists == kind.claims(.listings))
        #expect(abilities.readsBack == kind.claims(.readBack))
        let isSigned = client.server.endpoint.map { $0.authentication != .none } ?? false
        #expect(isSigned == kind.claims(.credentials))
        #expect(client.speaksHTTP == kind.claims(.http))
        guard kind.claims(.uploads) else {
          #expect(throws: Failure.self) { try client.sink("x") }
          return
        }
        let sink = try client.sink(client.freshName())
        let content = kind.content(kind.chunk + 1)
        #expect((sink.traits.abilities(of: 0).emptyFile != .refused) == kind.claims(.emptyUploads))
        #expect(
          sink.traits.opensSession(for: content.source(chunkSize: kind.chunk)) == kind.claims(.sessions))
        #expect((try await sink.look(.once) != nil) == kind.claims(.looks))
        guard kind.claims(.sessions) else { return }
        let sending = try await Sending(content, to: sink, chunk: kind.chunk)
        let session = try #require(sending.session)
        #expect(sink.traits.tellsHoldings(of: session) == kind.claims(.holdings))
        if kind.claims(.opening) {
          #expect((try await sending.held() != nil) == kind.claims(.holdings))
        }
        #expect((sink.origin(ending: session) != nil) == kind.claims(.abort))
      }
    }
  }
}
