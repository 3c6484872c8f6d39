import Admission
import Curl
import Endpoints
import Foundation
import JobModel
import LocalFiles
import SFTPClient
import Synchronization
import Testing
import TestSupport

@testable import HTTPClient

/// The engine's side of one test: sources and sinks of a kind, over a network that faults can be put into.
struct Client: Sendable {
  let kind: EndpointCase
  let server: KindServer
  let network: FaultyTransport
  private let lab: Lab
  private let context: ClientContext
  private let pool = BlockingPool(label: "endpoint-tests", width: 2)

  /// - Parameter credentials: what the secret is, each time that it is asked for; the last one stays.
  init(_ kind: EndpointCase, _ lab: Lab, credentials: [String]? = nil) throws {
    (self.kind, self.lab, server) = (kind, lab, try lab.server(kind))
    network = FaultyTransport(
      CurlTransport(thread: lab.thread, userAgent: "haul-tests", proxies: ProxyEnvironment([:])))
    let given = credentials ?? [server.fresh]
    let asked = Mutex(0)
    let next: @Sendable () -> String = {
      asked.withLock { count in
        defer { count += 1 }
        return given[min(count, given.count - 1)]
      }
    }
    context = ClientContext(
      transport: network, clock: EngineClock(now: { Date().timeIntervalSince1970 }, random: { 0.5 }),
      secrets: SecretSource(
        resolve: { _ in Secret(next()) },
        keys: { _ in AWSKeys(accessKeyID: next(), secretAccessKey: Secret(StrictS3.secret)) }),
      mask: SecretMask(), sftp: SFTPClient(SSHSurroundings(home: nil, agentSocket: nil)))
  }

  /// The engine sends the requests; the kind does not reach its server itself.
  var speaksHTTP: Bool {
    if case .http? = try? place(server.missing)?.download() { true } else { false }
  }

  func freshName() -> String { lab.freshName() }

  /// Puts an object there as another client would.
  ///
  /// - Returns: its path on the endpoint.
  func store(_ content: Content, as name: String) async throws -> String {
    if let store = server.store { return try await store(name, content.bytes) }
    var sending = try await Sending(content, to: try Client(kind, lab).sink(name), chunk: kind.chunk)
    try await sending.putAll()
    _ = try await sending.complete()
    return name
  }

  func source(_ path: String) throws -> any RemoteSource {
    guard let place = try place(path) else { return LocalSource(try local(path), pool: pool) }
    let remote = try place.download()
    return remote.source(requester(place, remote.refusals, .download))
  }

  func sink(_ path: String) throws -> any RemoteSink {
    guard let place = try place(path) else { return LocalSink(try local(path), pool: pool) }
    let remote = try place.upload()
    return remote.sink(requester(place, remote.refusals, .upload))
  }

  func page(_ page: String?, of prefix: String) async throws -> ListedPage {
    let endpoint = try #require(server.endpoint)
    return try await RemoteListing(context).page(
      page.map { .mark($0) } ?? .beginning, of: prefix, hasBegun: page != nil, at: endpoint,
      settings: settings(.download))
  }

  private func local(_ path: String) throws -> String { try #require(server.folder) + "/" + path }

  private func place(_ path: String) throws -> RemotePlace? {
    guard let endpoint = server.endpoint else { return nil }
    return try RemotePlace(.remote(endpoint: endpoint.name, path: path), endpoints: [endpoint.name: endpoint])
  }

  private func requester(
    _ place: RemotePlace, _ remote: any RemoteProtocol, _ direction: Verb
  ) -> Requester {
    let settings = settings(direction)
    return Requester(
      context, endpoint: place.endpoint, remote: remote, settings: settings,
      throttle: Throttle(settings.policy))
  }

  /// Nothing is tried twice: each fault is seen.
  private func settings(_ direction: Verb) -> TransferSettings {
    var settings = TransferSettings(direction: direction)
    settings.policy.retryAttempts = 1
    return settings
  }
}

extension EndpointCase {
  /// Runs a test's body on the network thread, as the engine runs its own.
  func run(credentials: [String]? = nil, _ body: @Sendable (Client) async throws -> Void) async throws {
    let lab = try #require(Lab.current)
    let client = try Client(self, lab, credentials: credentials)
    try await withTaskExecutorPreference(lab.thread) { try await body(client) }
  }
}
