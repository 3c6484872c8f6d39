import Endpoints
import JobLedger
import JobManifest
package import JobModel
import Maintenance
import Reporting
import Transfers

/// What `haul gc` does: removes old runs, orphaned partial files and orphaned remote sessions of jobs.
package struct StateCleanup: Sendable {
  /// One thing that was removed, or would be.
  package struct Item: Sendable, Hashable {
    package var job: String
    package var shard: Shard?
    /// `run`, `part` or `session`.
    package var kind: String
    package var place: String
    package var transfer: String?
    package var bytes: Int64?

    package func text(isDryRun: Bool) -> String {
      let size = bytes.map { ", \(Figures.bytes($0))" } ?? ""
      let owner = StateCleanup.name(job, shard)
      return
        "\(isDryRun ? "would remove" : "removed") \(kind) of \(owner): \(DisplayText.safe(place))\(size)\n"
    }
  }

  /// What was removed, and what could not be.
  package struct Result: Sendable {
    package var items: [Item] = []
    /// What could not be removed.
    package var left = 0
    /// Jobs, or parts of them, whose state can't be used.
    package var damaged: [(job: String, shard: Shard?, message: String)] = []

    package func json(isDryRun: Bool) -> JSON {
      let items = items.map { item -> JSON in
        [
          "job": .string(item.job), "shard": CommonJSON.shard(item.shard), "kind": .string(item.kind),
          "place": .string(item.place), "transfer": .text(item.transfer), "bytes": .int(item.bytes),
        ]
      }
      let errors = damaged.map { one -> JSON in
        [
          "job": .string(one.job), "shard": CommonJSON.shard(one.shard), "message": .string(one.message),
        ]
      }
      return [
        "schema": "haul.gc/v1", "dry_run": .bool(isDryRun), "items": .array(items), "errors": .array(errors),
      ]
    }

    package var isNothing: Bool { items.isEmpty && left == 0 && damaged.isEmpty }

    /// Nil where all was removed.
    package var end: End? {
      if !damaged.isEmpty {
        let names = damaged.map { StateCleanup.name($0.job, $0.shard) }.joined(separator: ", ")
        return End(.cannotCreate, "nothing was removed of \(names)")
      }
      return left == 0
        ? nil : End(.incomplete, "\(left) of them are still there", hint: "run `haul gc` again later")
    }
  }

  private static func name(_ job: String, _ shard: Shard?) -> String {
    (shard.map { "shard \($0.text) of " } ?? "") + "`\(job)`"
  }

  private let context: CommandContext
  /// How many of the newest runs are kept.
  private let keep: Int
  /// Only says what would be removed.
  private let isDryRun: Bool

  package init(_ context: CommandContext, keeping keep: Int, isDryRun: Bool) {
    self.context = context
    self.keep = keep
    self.isDryRun = isDryRun
  }

  /// Clears one job after the other; one whose state can't be used does not keep the others from it.
  ///
  /// - Parameters:
  ///   - root: whose drafts are swept, too.
  ///   - removed: told of each item as it is removed.
  package func run(
    _ states: [JobState], sweeping root: StateFolder, removed: (Item) -> Void
  ) async throws -> Result {
    var result = Result()
    if !isDryRun { PlanDraft.sweep(PlanDraft.home(root), root) }
    for each in states {
      let name = each.job
      do {
        do { try await clear(name, each.state, &result, removed) } catch let error as LedgerError {
          throw End(error)
        }
      } catch let end as End where end.status == .cannotCreate {
        let message = end.message ?? "the state can't be used"
        result.damaged.append((name, each.state.shard, message))
        context.console.error(message, hint: end.hint)
      }
    }
    return result
  }

  private func clear(
    _ name: String, _ state: StateFolder, _ result: inout Result, _ removed: (Item) -> Void
  ) async throws {
    guard let lock = try RunLock.take(state.folder(name), waiting: false) else {
      context.console.note("\(state.words(name)) is running: left alone")
      return
    }
    defer { withExtendedLifetime(lock) {} }
    let ledger = try state.open(name, holding: lock)
    // Behind the migration of an older state: another command that waits for it has the lock of commands.
    let command = CommandLock(state.folder(name))
    defer { withExtendedLifetime(command) {} }
    for run in try ledger.forgetRuns(keeping: keep, remove: !isDryRun) {
      if !isDryRun { state.removeReport(name, run: run.id) }
      let item = Item(job: name, shard: state.shard, kind: "run", place: "run \(run.number)")
      result.items.append(item)
      removed(item)
    }
    if !isDryRun { state.prune(name) }
    guard try ledger.wasPlanned else { return }
    guard let job = try ledger.recordedJob(name, context.environment) else {
      let fault = try ledger.manifestFault(context.environment)
      context.console.note(
        "the manifest of `\(name)` \(fault): its part files and sessions are left alone")
      return
    }
    for orphan in try await orphans(of: job, state, ledger) {
      if let obstacle = orphan.obstacle {
        result.left += 1
        context.console.note(
          "the \(orphan.kind.rawValue) of `\(name)` can't be removed now: \(orphan.place): \(obstacle)")
        continue
      }
      let item = Item(
        job: name, shard: state.shard, kind: orphan.kind.rawValue, place: orphan.place,
        transfer: orphan.transfer,
        bytes: orphan.bytes)
      result.items.append(item)
      removed(item)
    }
  }

  private func orphans(of job: Job, _ state: StateFolder, _ ledger: JobLedger) async throws -> [Orphan] {
    let writer = LedgerWriter(ledger) { _ in }
    let setUp = try EngineSetUp(
      job: job, context, stateFolder: state.folder(job.name), root: state, ledger: ledger, writer: writer,
      run: 0, board: ProgressRegistry(), events: context.console.print)
    // Also where it fails: the job's lock is let go behind it.
    defer { setUp.close() }
    let orphans = try await Orphans.clear(setUp.maintenance, remove: !isDryRun)
    try await writer.barrier()
    return orphans
  }
}

extension JobLedger {
  /// Whether a run has come as far as to plan the job: the first may have been stopped while it listed.
  var wasPlanned: Bool { get throws { try meta("manifest") != nil } }

  /// The job, or the part, by its manifest, read again as the last run read it; nil where that can't be read any more, or
  /// has errors.
  ///
  /// - Parameter name: whose state this is, whatever job the manifest names by now.
  func recordedJob(_ name: String, _ environment: ProcessEnvironment) throws -> Job? {
    guard let file = try ManifestFile(recordedIn: self, environment) else { return nil }
    let shard = try meta(StateFolder.shardMeta).flatMap { try? Shard($0) }
    var job = file.read(overrides: try lastRun()?.overrides ?? [:]).job?.divided(for: shard)
    job?.name = name
    return job
  }

  /// Why there is no such job, behind the words `the manifest`.
  func manifestFault(_ environment: ProcessEnvironment) throws -> String {
    try ManifestFile(recordedIn: self, environment) == nil
      ? "can't be read any more" : "has errors by now, which `haul check` names"
  }
}
