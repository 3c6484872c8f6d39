import Endpoints
import HTTPClient
import JobLedger
import JobModel
import LocalFiles
import SFTPClient
import Transfers

extension TransferContext {
  /// A run's over a scripted network; local paths and state are in `folder`.
  convenience init(
    _ transport: ScriptedTransport, _ writer: LedgerWriter, ledger: JobLedger, folder: Folder, run: Int = 1,
    id: String = "", boot: String = "boot", endpoints: [String: Endpoint] = [:],
    protected: ProtectedFiles = ProtectedFiles(),
    secrets: SecretSource = SecretSource { _ in Secret("token") },
    clock: EngineClock = EngineClock(now: { 1_700_000_000 }, random: { 0.5 }),
    limits: JobLimits = JobLimits(), buffers: BufferBudget = BufferBudget(),
    ownerElsewhere: (@Sendable (FileFacts) -> String?)? = nil,
    events: @escaping @Sendable (EngineEvent) -> Void = { _ in }
  ) {
    let run = RunContext(
      ledger: ledger, writer: writer, job: "job", number: run, id: id, bootID: boot, events: events)
    self.init(
      client: ClientContext(
        transport: transport, clock: clock, secrets: secrets, mask: writer.mask,
        sftp: SFTPClient(SSHSurroundings(home: nil, agentSocket: nil)), remark: run.remark,
        noteCooldown: { writer.submit(.cooldown(origin: $0, until: $1, askedAt: $2)) }),
      run: run,
      local: LocalContext(
        folder: folder, stateFolder: folder.path, pool: BlockingPool(label: "test", width: 2),
        protected: protected, ownerElsewhere: ownerElsewhere),
      endpoints: endpoints, board: ProgressRegistry(), limits: limits, buffers: buffers)
  }
}
