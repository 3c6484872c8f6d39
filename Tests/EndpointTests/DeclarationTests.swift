import Endpoints
import JobModel
import Testing

@testable import HTTPClient

extension EndpointContract {
  /// What a row says that its kind can't do is what the kind says itself.
  struct DeclarationTests {
    @Test func eachKindHasARow() {
      #expect(Set(EndpointCase.all.map(\.word)) == Set(EndpointRegistry.words + ["local"]))
      #expect(EndpointCase.all.count == EndpointRegistry.words.count + 1)
    }

    @Test(arguments: EndpointCase.all) func theKindSaysWhatItLacks(_ kind: EndpointCase) async throws {
      try await kind.run { client in
        let abilities = client.server.endpoint?.driver.abilities ?? EndpointAbilities()
        #expect((abilities.refused[.upload] == nil) == kind.can(.uploads))
        #expect(
          abilities.refused[.download] == nil, "a kind that gives no downloads needs an ability of its own")
        #expect(abilities.lists == kind.can(.listings))
        #expect(abilities.readsBack == kind.can(.readBack))
        let isSigned = client.server.endpoint.map { $0.authentication != .none } ?? false
        #expect(isSigned == kind.can(.credentials))
        #expect(client.speaksHTTP == kind.can(.http))
        guard kind.can(.uploads) else {
          #expect(throws: Failure.self) { try client.sink("x") }
          return
        }
        let sink = try client.sink(client.freshName())
        let content = kind.content(kind.chunk + 1)
        #expect((sink.traits.abilities(of: 0).emptyFile != .refused) == kind.can(.emptyUploads))
        #expect(
          sink.traits.opensSession(for: content.source(chunkSize: kind.chunk)) == kind.can(.sessions))
        #expect((try await sink.look(.once) != nil) == kind.can(.looks))
        guard kind.can(.sessions) else { return }
        let sending = try await Sending(content, to: sink, chunk: kind.chunk)
        let session = try #require(sending.session)
        #expect(sink.traits.tellsHoldings(of: session) == kind.can(.holdings))
        #expect((try await sending.held() != nil) == kind.can(.holdings))
        #expect((sink.origin(ending: session) != nil) == kind.can(.abort))
      }
    }
  }
}
