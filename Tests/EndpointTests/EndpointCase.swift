import Endpoints
import TestSupport
import Testing

/// A kind of endpoint in the contract, over one server: how that is started, and what either can't do. A kind that is
/// registered and has no row fails.
struct EndpointCase: Sendable, CustomTestStringConvertible {
  /// What some kinds, or servers, can't do. Tests that need it leave those out.
  enum Ability: Sendable, CaseIterable {
    /// It is reached by HTTP: a status can refuse, an answer can be lost.
    case http
    /// Its server asks for a credential.
    case credentials
    /// What it holds can be read.
    case downloads
    case uploads, emptyUploads, listings
    /// A page of its listing ends where the server wants.
    case shortPages
    /// Another object may take the name of one, and is told from it.
    case replacement
    /// Asking without reading tells the size.
    case probedSize
    /// That of an empty object, too: Apache's answer to a HEAD has no `Content-Length: 0`.
    case probedEmptySize
    /// An upload has a session, which outlives its process.
    case sessions
    /// Its server knows a session from its beginning, and not only by the bytes in it.
    case opening
    /// A session tells what it holds, and can be ended.
    case holdings, abort
    /// Who goes on with a session that was ended is told that it is gone.
    case goneSessions
    /// A request of its own ends an upload.
    case closing
    /// What stands at a destination can be asked for.
    case looks
    case readBack
    /// A chunk that arrives damaged is noticed, and a file that is not what it was said to be.
    case chunkProof, fileProof
  }

  let word: String
  /// Who made the server, where a kind has a row for more than one.
  var product: String?
  /// What the kind can't do: `DeclarationTests` shows that it says so itself.
  var lacks: Set<Ability> = []
  /// What the kind can and this server does not.
  var unserved: Set<Ability> = []
  /// Bytes a chunk of an upload.
  var chunk: Int64 = 64 << 10
  /// Makes an object that the kind can hold.
  var make: @Sendable (_ size: Int64, _ seed: UInt64) -> Content = { Content($0, seed: $1) }
  let start: @Sendable (Bench) async throws -> KindServer

  private static let tus: Set<Ability> = [.listings, .replacement, .closing, .looks, .fileProof]

  private static let sftp: Set<Ability> = [.http, .opening, .chunkProof, .fileProof]

  private static let webdav: Set<Ability> = [.opening, .chunkProof, .fileProof]

  static let all = [
    EndpointCase(
      word: "http",
      lacks: [
        .credentials, .listings, .sessions, .opening, .holdings, .abort, .closing, .chunkProof, .fileProof,
      ], start: KindServer.http),
    EndpointCase(word: "session", lacks: [.listings], start: KindServer.session),
    EndpointCase(word: "s3", chunk: 5 << 20, start: KindServer.s3),
    // It takes any signature, compares no checksum with the bytes, and answers 500 for an upload that is gone.
    EndpointCase(
      word: "s3", product: "moto",
      unserved: [.credentials, .shortPages, .goneSessions, .chunkProof, .fileProof], chunk: 5 << 20,
      start: KindServer.moto),
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
    EndpointCase(word: "tus", lacks: Self.tus, start: KindServer.tus),
    // It asks for no token, knows no checksums, and serves no GET.
    EndpointCase(
      word: "tus", product: "tuspyserver", lacks: Self.tus,
      unserved: [.credentials, .downloads, .readBack, .chunkProof], start: KindServer.tuspyserver),
    EndpointCase(
      word: "webdav", product: "apache", lacks: Self.webdav, unserved: [.probedEmptySize],
      start: { try await KindServer.webdav(.apache, $0) }),
    EndpointCase(
      word: "webdav", product: "rclone", lacks: Self.webdav,
      start: { try await KindServer.webdav(.rclone, $0) }),
    // Keys are files, which the tests' secrets are not.
    EndpointCase(
      word: "sftp", product: "openssh", lacks: Self.sftp, unserved: [.credentials], chunk: 256 << 10,
      start: { try await KindServer.sftp(.openssh, $0) }),
    EndpointCase(
      word: "sftp", product: "rclone", lacks: Self.sftp, chunk: 256 << 10,
      start: { try await KindServer.sftp(.rclone, $0) }),
    EndpointCase(
      word: "local", lacks: [.http, .credentials, .listings, .readBack, .fileProof],
      start: KindServer.local),
  ]

  /// The rows that can do all of it.
  static func able(_ abilities: Ability...) -> [EndpointCase] {
    all.filter { one in abilities.allSatisfy(one.can) }
  }

  func can(_ ability: Ability) -> Bool { claims(ability) && !unserved.contains(ability) }

  /// The kind itself can, whatever this server does.
  func claims(_ ability: Ability) -> Bool { !lacks.contains(ability) }

  /// An object to store or to send; another seed gives another one.
  func content(_ size: Int64, seed: UInt64 = 1) -> Content { make(size, seed) }

  /// No other row's.
  var name: String { product.map { "\(word) on \($0)" } ?? word }
  var testDescription: String { name }

  /// Around each border that chunks of this size have.
  static func sizes(around chunk: Int64) -> [Int64] { [0, 1, chunk - 1, chunk, chunk + 1, 2 * chunk + 7] }
}
