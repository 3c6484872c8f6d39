import Endpoints
import JobLedger
import JobModel
import Planner
import Posix

/// Reads the job's row files again while a run goes on: signed URLs may have been renewed in them.
actor RowSources {
  private let job: Job
  private let values: RunValues
  private let ledger: JobLedger
  /// The files that were read last, as they were.
  private var read: [String?] = []
  private var reading: Task<Bool, Never>?
  /// Rows that are recorded at a time.
  private static let batch = 500

  /// Nil where no transfer comes from a row.
  init?(_ job: Job, _ values: RunValues, _ ledger: JobLedger) {
    var rows = job
    rows.templates = job.templates.filter { if case .rows = $0.fanOut { true } else { false } }
    // What they need may be no row, and is settled.
    for index in rows.templates.indices { rows.templates[index].needs = [] }
    guard !rows.templates.isEmpty else { return nil }
    self.job = rows
    self.values = values
    self.ledger = ledger
  }

  /// Brings renewed URLs into the ledger; many that ask at once wait for one reading, and files that are as they were
  /// are not read again.
  func renew() async {
    if let reading {
      _ = await reading.value
      return
    }
    let files = files
    guard files != read else { return }
    let (job, values, ledger) = (job, values, ledger)
    let task = Task { (try? await DedicatedThread.run { try Self.record(job, values, ledger) }) != nil }
    reading = task
    // What is written meanwhile has another identity next time; what could not be read or recorded now is read again.
    if await task.value { read = files }
    reading = nil
  }

  private var files: [String?] {
    job.templates.map { template in
      guard case .rows(let source, _) = template.fanOut else { return nil }
      return PlanFingerprint.identity(RelativePath.absolute(source.path, in: job.directory))
    }
  }

  /// Leaves faulty rows alone: they may be in the midst of being written.
  private static func record(_ job: Job, _ values: RunValues, _ ledger: JobLedger) throws {
    let faults = try JobPlanner.expand(job, run: values, uuid: { PlanCompiler.uuid(job.name, $0) }) { _ in }
    guard !faults.contains(where: { $0.severity == .error }) else { return }
    var rows: [RenewedRow] = []
    _ = try JobPlanner.expand(job, run: values, uuid: { PlanCompiler.uuid(job.name, $0) }) { transfer in
      rows.append(
        RenewedRow(id: transfer.id, source: transfer.source.text, destination: transfer.destination.text))
      guard rows.count >= batch else { return }
      try ledger.renewURLs(rows)
      rows = []
    }
    try ledger.renewURLs(rows)
  }
}
