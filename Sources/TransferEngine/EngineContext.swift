package import Admission
package import Endpoints
package import JobLedger
package import JobModel
package import LocalFiles

/// What all transfers of a run share.
package struct EngineContext: Sendable {
  package var transport: any Transport
  package var ledger: JobLedger
  package var writer: LedgerWriter
  /// The manifest's folder, opened: local paths are relative to it.
  package var folder: Folder
  package var endpoints: [String: Endpoint]
  package var secrets: SecretSource
  /// Disk reads and hashes.
  package var pool: BlockingPool
  /// The job's folder in the state, for snapshots.
  package var stateFolder: String
  package var job: String
  package var run: Int
  /// Told what happens, on whatever thread it happens.
  package var events: @Sendable (EngineEvent) -> Void
  package var clock: EngineClock
  package var bootID: String
  /// Read all that was recorded again before it counts (`--resume-check full`).
  package var checksEverything: Bool
  package var board: ProgressRegistry
  /// The run's ULID: what one run asks for twice is known by it.
  package var runID = ""
  /// Inodes of files that no download may replace: the manifest.
  package var protected: Set<UInt64> = []
  /// Where no transfer writes: the folders of haul's state.
  package var protectedFolders = ProtectedFolders()
  package var tokens = TokenKeeping.none
  /// Brings URLs that were renewed in row files into the ledger; nil where there are no rows.
  package var renewRows: (@Sendable () async -> Void)?
  /// Where requests wait until their host, their policy and their transfer let them go.
  package let admission: AdmissionQueue
  let chunkLimits = ChunkLimits()
  /// The store that a retired upload was made for, where its endpoint's name means another one now: by what was
  /// recorded of the endpoint.
  package var formerEndpoint: @Sendable (_ name: String, _ recorded: String) throws(Failure) -> Endpoint? = {
    _, _ throws(Failure) in nil
  }
  package var network = NetworkState(isUp: { _ in true }, isMetered: { nil }, isThere: { true })
  package let warnings: WarningTally
  let blocks = BlockPool()
  let writeback = Writeback()
  let claims = DestinationClaims()
  let adoptions = AdoptionWatch()
  let said = WarnOnce()
  let intents = IntentCache()
  let etags = ETagMeanings()

  package init(
    transport: any Transport, ledger: JobLedger, writer: LedgerWriter, folder: Folder,
    endpoints: [String: Endpoint], secrets: SecretSource, pool: BlockingPool, stateFolder: String,
    job: String, run: Int,
    events: @escaping @Sendable (EngineEvent) -> Void, clock: EngineClock, bootID: String,
    checksEverything: Bool = false, board: ProgressRegistry, admission: AdmissionQueue? = nil
  ) {
    self.transport = transport
    self.admission =
      admission
      ?? AdmissionQueue(
        executor: transport.executor, sleep: { try await transport.sleep(seconds: $0) }, now: clock.now,
        random: clock.random)
    self.ledger = ledger
    self.writer = writer
    self.folder = folder
    self.endpoints = endpoints
    let mask = writer.mask
    self.secrets = secrets.teaching(mask)
    self.pool = pool
    self.stateFolder = stateFolder
    self.job = job
    self.run = run
    self.events = { events($0.without(mask)) }
    self.clock = clock
    self.bootID = bootID
    self.checksEverything = checksEverything
    self.board = board
    warnings = WarningTally(writer, run: run)
  }

  /// What must not be told or recorded.
  package var mask: SecretMask { writer.mask }

  /// Tells of something, and records it where there is a run.
  package func remark(_ diagnostic: Diagnostic) {
    warnings.note(diagnostic)
    events(.diagnostic(diagnostic))
  }

  /// What the transfer's host was last measured at, where its chunk size is chosen by that.
  func rate(for transfer: LedgerTransfer) -> Double? {
    guard transfer.settings.chunkSize == .auto else { return nil }
    return (try? RemotePlace(transfer.remote, endpoints: endpoints)).flatMap {
      admission.rates[HostRate(origin: $0.url.origin, direction: transfer.settings.direction)]
    }
  }

  /// The tag of a download's part file.
  func partTag(_ seq: Int64) -> String { PartName.tag(seq, key: ledger.partKey) }

  /// Eight hex digits of job and transfer: names snapshots, and once named part files.
  func tag(_ id: String) -> String {
    // FNV-1a (draft-eastlake-fnv): spread, not secrecy.
    var hash: UInt32 = 2_166_136_261
    for byte in (job + "\0" + id).utf8 { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
    let text = String(hash, radix: 16)
    return String(repeating: "0", count: 8 - text.count) + text
  }
}

/// Time and chance, so that tests can hold them.
package struct EngineClock: Sendable {
  /// Seconds since 1970.
  package var now: @Sendable () -> Double
  /// 0 ..< 1.
  package var random: @Sendable () -> Double
  /// A time zone by its name; the machine's without one.
  package var zone: @Sendable (String?) -> CivilZone

  package init(
    now: @escaping @Sendable () -> Double, random: @escaping @Sendable () -> Double,
    zone: @escaping @Sendable (String?) -> CivilZone = { _ in .utc }
  ) {
    self.now = now
    self.random = random
    self.zone = zone
  }
}

/// Resolves secret references; the engine itself never reads the environment.
package struct SecretSource: Sendable {
  /// - Throws: `Failure` with `SECRET_UNAVAILABLE`.
  package var resolve: @Sendable (SecretReference) async throws -> Secret
  /// Keys of a profile, the environment or a command.
  ///
  /// - Throws: `Failure` with `SECRET_UNAVAILABLE`.
  package var keys: @Sendable (AWSCredentials) async throws -> AWSKeys

  /// The login that the user's `.netrc` has for a host.
  ///
  /// - Throws: `Failure` with `SECRET_UNAVAILABLE`.
  package var netrc: @Sendable (_ host: String) async throws -> NetrcLogin

  package init(
    resolve: @escaping @Sendable (SecretReference) async throws -> Secret,
    keys: @escaping @Sendable (AWSCredentials) async throws -> AWSKeys = { _ in
      throw Failure(.secretUnavailable, "there are no AWS credentials here")
    },
    netrc: @escaping @Sendable (_ host: String) async throws -> NetrcLogin = { host in
      throw Failure(.secretUnavailable, "there is no `.netrc` to look up `\(host)` in")
    }
  ) {
    // Files are read for them, and the engine's tasks prefer the network thread.
    self.resolve = { reference in
      try await withTaskExecutorPreference(globalConcurrentExecutor) { try await resolve(reference) }
    }
    self.keys = { credentials in
      try await withTaskExecutorPreference(globalConcurrentExecutor) { try await keys(credentials) }
    }
    self.netrc = { host in
      try await withTaskExecutorPreference(globalConcurrentExecutor) { try await netrc(host) }
    }
  }
}

extension SecretSource {
  /// The same, with whatever it gives masked from then on.
  package func teaching(_ mask: SecretMask) -> SecretSource {
    var source = self
    let (resolve, keys, netrc) = (resolve, keys, netrc)
    source.resolve = { reference in
      let secret = try await resolve(reference)
      mask.learn(secret)
      return secret
    }
    source.keys = { credentials in
      let found = try await keys(credentials)
      mask.learn(found)
      return found
    }
    source.netrc = { host in
      let login = try await netrc(host)
      mask.learn(user: login.user, password: login.password)
      return login
    }
    return source
  }
}

extension SecretMask {
  func learn(_ keys: AWSKeys) {
    learn(keys.secretAccessKey)
    if let token = keys.sessionToken { learn(token) }
  }
}

/// A user and a password of a `.netrc` file.
package struct NetrcLogin: Sendable {
  package var user: String
  package var password: Secret
  package init(user: String, password: Secret) {
    self.user = user
    self.password = password
  }
}

/// Bytes of one transfer in one run.
package struct MovedBytes: Sendable, Hashable {
  package var transferred: Int64
  package var reused: Int64
  package var discarded: Int64
}

/// What happens while a plan runs.
package enum EngineEvent: Sendable {
  /// `bytes`: of the transfer in this run, where its work has just ended.
  case state(id: String, from: TransferState, to: TransferState, failure: Failure?, bytes: MovedBytes? = nil)
  case chunk(id: String, index: Int, bytes: Int64, attempts: Int)
  case retry(id: String, delay: Double, failure: Failure)
  case checked(id: String, Verification)
  case host(HostNews)
  case diagnostic(Diagnostic)
  /// Nothing moves under a policy (or, without a name, under one written in place), or to a server.
  case held(by: String?, Hold)
  case released(by: String?, TransferState.PauseReason)
  /// Other rates hold from now on: a policy's, or for `haul limit` the whole job's; nil is back to the policies.
  case bandwidth(policy: String?, Bandwidth?)

  /// The same, with secrets masked that somebody else has put into its words.
  package func without(_ mask: SecretMask) -> EngineEvent {
    switch self {
    case .state(let id, let from, let to, let failure?, let bytes):
      .state(id: id, from: from, to: to, failure: failure.without(mask), bytes: bytes)
    case .retry(let id, let delay, let failure): .retry(id: id, delay: delay, failure: failure.without(mask))
    case .diagnostic(let diagnostic): .diagnostic(diagnostic.without(mask))
    case .state, .chunk, .checked, .host, .held, .released, .bandwidth: self
    }
  }
}
