import Admission
import Curl
import Endpoints
import Glibc
import JobLedger
import JobModel
import LocalFiles
import Posix
import TimeZones
import TransferEngine

/// Puts an engine's surroundings together: network thread, clock, secrets, the manifest's folder.
struct EngineSetUp {
  private let thread: NetworkThread
  var context: EngineContext

  /// - Parameter tokens: the folder of exchanged refresh tokens, where it is another one than the state's.
  init(
    job: Job, _ command: CommandContext, stateFolder: String, tokensIn tokens: String? = nil,
    ledger: JobLedger, writer: LedgerWriter, run: Int, board: ProgressRegistry,
    checksEverything: Bool = false, waits: Bool = true,
    events: @escaping @Sendable (EngineEvent) -> Void
  ) throws {
    // The admission queue keeps to each policy's own `connections`; the thread has room for all of them together.
    var policies: [String: Int] = [:]
    for settings in job.templates.flatMap(\.settings.values) {
      policies[settings.policyName ?? "\(settings.policy)"] = settings.policy.connectionsTotal
    }
    let most = max(16, policies.values.reduce(0) { $0 + $1 })
    thread = try NetworkThread(limits: ConnectionLimits(total: most, perOrigin: most))
    writer.gathers { [thread] in thread.isBusy }
    let secrets = command.secrets.source
    let curl = CurlTransport(
      thread: thread, userAgent: "haul/\(ToolVersion.current)",
      proxies: ProxyEnvironment(command.environment.variables),
      secrets: secrets.teaching(writer.mask))
    let wallClock: @Sendable () -> Double = { SystemClock.now }
    let remark: @Sendable (Diagnostic) -> Void = { diagnostic in
      // Without a run there is no report to put it in.
      if run > 0 { writer.submit(.diagnostic(run: run, diagnostic)) }
      events(.diagnostic(diagnostic))
    }
    let metering =
      job.templates.flatMap(\.settings.values).contains { $0.policy.metered == .pause }
      ? Metering { remark(Diagnostic(.warning, $0)) } : nil
    let network = NetworkState.system(isMetered: { metering?.current })
    let hostLog = HostLog(report: remark)
    if run > 0 { writer.submit(.hosts([])) }
    let rates = HostRates(try ledger.hostRates(now: wallClock())) { host, rate in
      if run > 0 { writer.submit(.rate(host, rate, at: wallClock())) }
    }
    let admission = AdmissionQueue(
      executor: curl.executor, sleep: { try await curl.sleep(seconds: $0) },
      now: { SystemClock.uptime }, random: { Double.random(in: 0..<1) }, rates: rates,
      hasNetwork: waits ? network.reaches : nil,
      report: { news in
        events(.host(news))
        board.note(news, now: wallClock())
        if run > 0 {
          writer.submit(.hosts(board.hosts))
          writer.submit(.host(origin: news.host, news.record, at: wallClock()))
        }
        hostLog.note(news)
      })
    let cores = Machine.cores
    context = EngineContext(
      transport: GatedTransport(curl, admission: admission, wallClock: wallClock), ledger: ledger,
      writer: writer,
      folder: try Folder.open(job.directory), endpoints: job.endpoints, secrets: secrets,
      pool: BlockingPool(label: "haul-pool", width: cores), stateFolder: stateFolder, job: job.name, run: run,
      events: events,
      clock: EngineClock(
        now: wallClock, random: { Double.random(in: 0..<1) },
        zone: TimeZones.find),
      bootID: BootID.current, checksEverything: checksEverything, board: board, admission: admission)
    context.runID = try ledger.run(number: run)?.id ?? ""
    context.tokens = KeptTokens.keeping(in: tokens ?? stateFolder)
    let records = EndpointRecords(job.endpoints)
    context.formerEndpoint = { name, text throws(Failure) in try records.former(name, text) }
    context.network = network
    let state = StateFolder(path: PathParts(stateFolder).parent)
    context.protectedFolders = ProtectedFolders(
      root: state.path, jobs: state.jobs.map(state.folder), home: context.folder)
    // Whoever writes the manifest decides which commands it may run: not a server.
    var status = stat()
    if stat(Paths.real(job.manifestPath), &status) == 0 { context.protected.insert(UInt64(status.st_ino)) }
  }

  /// Ends the network thread.
  func shutDown() { thread.shutdown() }
}
