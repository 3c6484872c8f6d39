import Curl
import Foundation
import JobLedger
import JobModel
import TransferEngine

/// Puts an engine's surroundings together: network thread, clock, secrets, the manifest's folder.
struct EngineSetUp {
  private let network: NetworkThread
  var context: EngineContext

  init(
    job: Job, stateFolder: String, ledger: JobLedger, writer: LedgerWriter, run: Int, board: LiveBoard,
    checksEverything: Bool = false,
    events: @escaping @Sendable (EngineEvent) -> Void
  ) throws {
    let policies = job.templates.flatMap(\.settings.values).map(\.policy)
    network = try NetworkThread(
      limits: ConnectionLimits(
        total: policies.map(\.connectionsTotal).max() ?? 16,
        perOrigin: policies.map(\.connectionsPerHost).max() ?? 8))
    let cores = ProcessInfo.processInfo.activeProcessorCount
    context = EngineContext(
      transport: CurlTransport(thread: network, userAgent: "haul/\(Haul.version)"), ledger: ledger,
      writer: writer,
      folder: try Folder.open(job.directory), endpoints: job.endpoints, secrets: Secrets.source,
      pool: BlockingPool(label: "haul-pool", width: cores), stateFolder: stateFolder, job: job.name, run: run,
      events: events,
      clock: EngineClock(
        now: { Date().timeIntervalSince1970 }, random: { Double.random(in: 0..<1) },
        zone: Zones.find),
      bootID: BootID.current, checksEverything: checksEverything, board: board)
    context.runID = try ledger.run(number: run)?.id ?? ""
    // Whoever writes the manifest decides which commands it may run: not a server.
    var status = stat()
    if stat(Paths.real(job.manifestPath), &status) == 0 { context.protected.insert(UInt64(status.st_ino)) }
  }

  /// Ends the network thread.
  func shutDown() { network.shutdown() }
}
