import Endpoints
import TestSupport
import Testing

/// A kind of endpoint in the contract: how its server is started, and what the kind can't do. A kind that is registered
/// and has no row fails.
struct EndpointCase: Sendable, CustomTestStringConvertible {
  /// What some kinds can't do. Tests that need it leave those out; `DeclarationTests` shows that they say so themselves.
  enum Ability: Sendable, CaseIterable {
    /// It is reached by HTTP: a status can refuse, an answer can be lost.
    case http
    /// Its server asks for a credential.
    case credentials
    case uploads, emptyUploads, listings
    /// Another object may take the name of one, and is told from it.
    case replacement
    /// Asking without reading tells the size.
    case probedSize
    /// An upload has a session, which outlives its process.
    case sessions
    /// A session tells what it holds, and can be ended.
    case holdings, abort
    /// A request of its own ends an upload.
    case closing
    /// What stands at a destination can be asked for.
    case looks
    case readBack
    /// A chunk that arrives damaged is noticed, and a file that is not what it was said to be.
    case chunkProof, fileProof
  }

  let word: String
  var lacks: Set<Ability> = []
  /// Bytes a chunk of an upload.
  var chunk: Int64 = 64 << 10
  /// Makes an object that the kind can hold.
  var make: @Sendable (_ size: Int64, _ seed: UInt64) -> Content = { Content($0, seed: $1) }
  let start: @Sendable (Bench) async throws -> KindServer

  static let all = [
    EndpointCase(
      word: "http",
      lacks: [
        .credentials, .listings, .sessions, .holdings, .abort, .closing, .chunkProof, .fileProof,
      ], start: KindServer.http),
    EndpointCase(word: "session", lacks: [.listings], start: KindServer.session),
    EndpointCase(word: "s3", chunk: 5 << 20, start: KindServer.s3),
    EndpointCase(
      word: "presigned", lacks: [.listings, .holdings, .abort, .looks, .readBack, .fileProof],
      start: KindServer.presigned),
    EndpointCase(
      word: "kii", lacks: [.listings, .emptyUploads, .probedSize, .holdings, .chunkProof, .fileProof],
      start: KindServer.kii),
    EndpointCase(
      word: "salesforce",
      lacks: [
        .uploads, .emptyUploads, .listings, .replacement, .sessions, .holdings, .abort, .closing, .looks,
        .readBack, .chunkProof, .fileProof,
      ], start: KindServer.salesforce),
    EndpointCase(
      word: "tus", lacks: [.listings, .replacement, .closing, .looks, .fileProof], start: KindServer.tus),
    EndpointCase(
      word: "local", lacks: [.http, .credentials, .listings, .readBack, .fileProof],
      start: KindServer.local),
  ]

  /// The rows of kinds that can do all of it.
  static func able(_ abilities: Ability...) -> [EndpointCase] {
    all.filter { $0.lacks.isDisjoint(with: abilities) }
  }

  func can(_ ability: Ability) -> Bool { !lacks.contains(ability) }

  /// An object to store or to send; another seed gives another one.
  func content(_ size: Int64, seed: UInt64 = 1) -> Content { make(size, seed) }

  var testDescription: String { word }

  /// Around each border that chunks of this size have.
  static func sizes(around chunk: Int64) -> [Int64] { [0, 1, chunk - 1, chunk, chunk + 1, 2 * chunk + 7] }
}
