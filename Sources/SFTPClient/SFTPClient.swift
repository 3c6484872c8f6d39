package import Endpoints
import JobModel

/// What speaks SFTP for a run: its sources, sinks and listings share few connections.
package struct SFTPClient: SFTPService {
  let surroundings: SSHSurroundings
  let pool = SFTPPool()
  let bodies = OpenBodies()

  package init(_ surroundings: SSHSurroundings) { self.surroundings = surroundings }

  package func source(_ download: SFTPDownload, _ engine: EngineServices) -> any RemoteSource {
    SFTPSource(download, SFTPAccess(self, download.url, download.trust, engine))
  }

  package func sink(_ upload: SFTPUpload, _ engine: EngineServices) -> any RemoteSink {
    SFTPSink(upload, SFTPAccess(self, upload.url, upload.trust, engine))
  }

  package nonisolated(nonsending) func page(
    _ page: String?, of prefix: String, in listing: SFTPListing, _ engine: EngineServices
  ) async throws -> ListedPage {
    let turn = try listing.turn(page, of: prefix)
    let access = SFTPAccess(self, listing.url, listing.trust, engine)
    return try await access.once("LIST", moving: nil) { files in
      let names = try await files.tellKinds(of: try await files.names(in: turn.folder.text), in: turn.folder)
      return (try turn.listed(names), bytes: 0)
    }
  }
}

/// How one transfer reaches its server. Belongs to the transfer's actor.
struct SFTPAccess {
  private static let mostConnections = 4
  private static let mostByHand = 16

  let client: SFTPClient
  let url: WebURL
  let engine: EngineServices
  private let trust: SFTPTrust
  private(set) var requests: any DirectRequests

  init(_ client: SFTPClient, _ url: WebURL, _ trust: SFTPTrust, _ engine: EngineServices) {
    (self.client, self.url, self.trust, self.engine) = (client, url, trust, engine)
    requests = engine.requests
  }

  var hasty: SFTPAccess {
    var access = self
    access.requests = requests.forCleanup()
    return access
  }

  /// Makes one request, once.
  nonisolated(nonsending) func once<Value>(
    _ verb: String, moving direction: Direction?,
    _ body: nonisolated(nonsending) (SFTPFiles) async throws -> (Value, bytes: Int64)
  ) async throws -> Value {
    try await requests.once(verb, url, moving: direction) {
      try await self.lease()
    } _: { lease in
      try await body(self.files(lease.connection))
    }
  }

  /// Makes one request, again after passing faults.
  nonisolated(nonsending) func call<Value>(
    _ verb: String, _ body: nonisolated(nonsending) (SFTPFiles) async throws -> Value
  ) async throws -> Value {
    try await requests.call(verb, url) {
      try await self.lease()
    } _: { lease in
      try await body(self.files(lease.connection))
    }
  }

  func files(_ connection: SFTPConnection) -> SFTPFiles {
    SFTPFiles(
      connection: connection, place: url.description, timeout: requests.policy.requestTimeout,
      stall: min(requests.policy.requestTimeout, requests.policy.stallTimeout))
  }

  nonisolated(nonsending) func lease() async throws -> SFTPPool.Lease {
    let (key, policy) = (try key(), requests.policy)
    switch policy.proxy {
    case .environment, .none: break
    case .url, .login:
      throw Failure(
        .policyDenied,
        "\(url.origin): the policy names a `proxy`, and SSH goes through none; nothing was sent. Write `proxy: none` for this endpoint"
      )
    }
    let most =
      policy.connectionsPerHost.number.map { min(max(1, $0), Self.mostByHand) } ?? Self.mostConnections
    let door = SFTPDoor(
      url: url, login: key.login, trust: trust, policy: policy, surroundings: client.surroundings,
      bodies: client.bodies, secret: engine.secret)
    return try await client.pool.lease(key, most: most) { try await door.open() }
  }

  /// A lease of the connection of a handle that is open.
  func lease(of connection: SFTPConnection) throws -> SFTPPool.Lease {
    client.pool.lease(try key(), of: connection)
  }

  private func key() throws(Failure) -> SFTPPool.Key {
    guard case .ssh(let login) = engine.authentication else {
      throw Failure(.unauthorized, "\(url): the endpoint has no `auth: { ssh: … }`", class: .denied)
    }
    let policy = requests.policy
    return SFTPPool.Key(
      origin: url.origin, login: login, trust: trust, ip: policy.ip, interface: policy.interface,
      denied: policy.deniedAddresses)
  }
}
