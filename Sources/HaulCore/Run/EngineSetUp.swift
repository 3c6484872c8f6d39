import Admission
import Curl
import Endpoints
import HTTPClient
import JobLedger
import JobModel
import LocalFiles
import Maintenance
import Posix
import SFTPClient
import TimeZones
import Transfers

/// Puts an engine's surroundings together: network thread, clock, secrets, the manifest's folder.
struct EngineSetUp {
  private let thread: NetworkThread
  let client: ClientContext
  let transfers: TransferContext
  let maintenance: MaintenanceContext
  let network: NetworkState

  /// - Parameters:
  ///   - tokens: the folder of exchanged refresh tokens, where it is another one than the state's.
  ///   - state: the folder of all jobs' state, where it is not the one that `stateFolder` lies in.
  init(
    job: Job, _ command: CommandContext, stateFolder: String, tokensIn tokens: String? = nil,
    root state: StateFolder? = nil, ledger: JobLedger, writer: LedgerWriter, run: Int,
    board: ProgressRegistry,
    checksEverything: Bool = false, waits: Bool = true, isFollowed: Bool = false,
    events: @escaping @Sendable (EngineEvent) -> Void
  ) throws {
    // The admission queue keeps to each policy's own `connections`; the thread has room for all of them together.
    let capacity = Self.capacity(openFiles: Machine.openFiles)
    var policies: [String: Int] = [:]
    for settings in job.templates.flatMap(\.settings.values) {
      policies[settings.policyName ?? "\(settings.policy)"] =
        settings.policy.connectionsTotal.number ?? capacity
    }
    // Half of a copy's stream is not admitted, and may not wait here for the other half either.
    let halves = job.templates.contains { $0.direction == .copy } ? 2 : 1
    let most = max(16, policies.values.reduce(0) { $0 + $1 }) * halves
    thread = try NetworkThread(limits: ConnectionLimits(total: most, perOrigin: most))
    writer.gathers { [thread] in thread.wasBusy($0) }
    let secrets = command.secrets.source
    let curl = CurlTransport(
      thread: thread, userAgent: "haul/\(ToolVersion.current)",
      proxies: ProxyEnvironment(command.environment.variables).teaching(writer.mask),
      secrets: secrets.teaching(writer.mask))
    let wallClock: @Sendable () -> Double = { SystemClock.now }
    let begun = try ledger.run(number: run)
    let context = RunContext(
      ledger: ledger, writer: writer, job: job.name, number: run, id: begun?.id ?? "",
      startedAt: begun?.startedAt ?? 0, bootID: BootID.current, isFollowed: isFollowed, events: events)
    let metering =
      job.templates.flatMap(\.settings.values).contains { $0.policy.metered == .pause }
      ? Metering { context.remark(Diagnostic(.warning, $0)) } : nil
    let network = NetworkState.system(isMetered: { metering?.current })
    self.network = network
    let hostLog = HostLog(report: context.remark)
    if run > 0 { writer.submit(.hosts([])) }
    let rates = HostRates(try ledger.hostRates(now: wallClock())) { host, rate in
      if run > 0 { writer.submit(.rate(host, rate, at: wallClock())) }
    }
    let admission = AdmissionQueue(
      executor: curl.executor, sleep: { try await curl.sleep(seconds: $0) },
      now: { SystemClock.uptime }, random: { Double.random(in: 0..<1) }, rates: rates,
      capacity: capacity, limits: job.limits, known: try ledger.hostConcurrency(now: wallClock()),
      hasNetwork: waits ? network.reaches : nil,
      report: { news in
        board.note(news, now: wallClock())
        if case .sized(let requests) = news.change {
          if run > 0 { writer.submit(.concurrency(origin: news.host, requests, at: wallClock())) }
          return
        }
        events(.host(news))
        if run > 0 {
          writer.submit(.hosts(board.hosts))
          writer.submit(.host(origin: news.host, news.record, at: wallClock()))
        }
        hostLog.note(news)
      })
    client = ClientContext(
      transport: GatedTransport(curl, admission: admission, wallClock: wallClock),
      clock: EngineClock(now: wallClock, random: { Double.random(in: 0..<1) }, zone: TimeZones.find),
      admission: admission, secrets: secrets, mask: writer.mask,
      tokens: KeptTokens.keeping(in: tokens ?? stateFolder),
      sftp: SFTPClient(
        SSHSurroundings(home: command.environment.home, agentSocket: command.environment["SSH_AUTH_SOCK"])),
      remark: context.remark,
      noteCooldown: { writer.submit(.cooldown(origin: $0, until: $1, askedAt: $2)) })
    let folder = try Folder.open(job.directory)
    let state = state ?? StateFolder(path: PathParts(stateFolder).parent)
    let ownerElsewhere: (@Sendable (FileFacts) -> String?)? =
      state.shard == nil
      ? nil : { @Sendable [name = job.name] file in state.owner(of: file, inOtherPartsOf: name) }
    transfers = TransferContext(
      client: client, run: context,
      local: LocalContext(
        folder: folder, stateFolder: stateFolder,
        pool: BlockingPool(label: "haul-pool", width: Machine.cores),
        protected: ProtectedFiles(job.decisiveFiles),
        protectedFolders: ProtectedFolders(root: state.path, jobs: state.jobFolders, home: folder),
        ownerElsewhere: ownerElsewhere),
      endpoints: job.endpoints, board: board, limits: job.limits, checksEverything: checksEverything)
    let records = EndpointRecords(job.endpoints)
    maintenance = MaintenanceContext(transfers) { try records.former($0, $1) }
  }

  /// Requests that may be in flight where no policy says so: each has a socket, a file and one more for a moment, and
  /// memory for its transfer.
  static func capacity(openFiles: Int) -> Int { min(128, max(1, (openFiles - 64) / 3)) }

  /// Ends the network thread.
  func shutDown() { thread.shutdown() }

  /// The same, for who gave it a writer of its own: what was submitted, such as a cool-down, is committed first.
  func close() {
    shutDown()
    try? transfers.run.writer.close()
  }
}
