import ArgumentParser
import Foundation
import JobLedger
import JobManifest
import JobModel
import Reporting
import TransferEngine

struct GcCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "gc",
    abstract: "Removes old runs, orphaned partial files and orphaned remote sessions, and says which.")

  @Argument(help: "A manifest, or a job's name; all jobs where left out.")
  var job: String?

  @Flag(help: "Only say what would be removed.")
  var dryRun = false

  @Option(help: "How many of the newest runs are kept; the last one always is.")
  var keep = 30

  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard keep >= 0 else { throw ValidationError("`--keep` is 0 or more") }
  }

  func run() async throws {
    let state = try common.existingState()
    let names = try job.map { [try state.resolve($0)] } ?? state.jobs
    var items: [JSON] = []
    var left = 0
    var damaged: [(job: String, message: String)] = []
    for name in names {
      do {
        do { try await clear(name, state, into: &items, left: &left) } catch let error as LedgerError {
          throw End(.cannotCreate, error.description)
        }
      } catch let end as End where end.status == .cannotCreate {
        // The others are cleared all the same.
        let message = end.message ?? "the state can't be used"
        damaged.append((name, message))
        Terminal.error(message, hint: end.hint)
      }
    }
    if common.json {
      let errors = damaged.map { JSON.object([.init("job", .string($0)), .init("message", .string($1))]) }
      let json: JSON = [
        "schema": "haul.gc/v1", "dry_run": .bool(dryRun), "items": .array(items), "errors": .array(errors),
      ]
      Terminal.out(json.text + "\n")
    } else if items.isEmpty, left == 0, damaged.isEmpty {
      Terminal.out("nothing to remove\n")
    }
    guard damaged.isEmpty else {
      let names = damaged.map { "`\($0.job)`" }.joined(separator: ", ")
      throw End(.cannotCreate, "nothing was removed of \(names)")
    }
    guard left == 0 else {
      throw End(.incomplete, "\(left) of them are still there", hint: "run `haul gc` again later")
    }
  }

  /// - Parameter left: counts what could not be removed.
  private func clear(
    _ name: String, _ state: StateFolder, into items: inout [JSON], left: inout Int
  ) async throws {
    guard let lock = try RunLock.take(state.folder(name), waiting: false) else {
      Terminal.note("the job `\(name)` is running: left alone")
      return
    }
    defer { withExtendedLifetime(lock) {} }
    let ledger = try state.open(name, holding: lock)
    for run in try ledger.forgetRuns(keeping: keep, remove: !dryRun) {
      if !dryRun { state.removeReport(name, run: run.id) }
      items.append(tell(name, "run", "run \(run.number)", transfer: nil, bytes: nil))
    }
    if !dryRun { state.prune(name) }
    guard let path = try ledger.meta("manifest"), let file = try? ManifestFile(path),
      let job = file.read(overrides: try ledger.lastRun()?.overrides ?? [:]).job
    else {
      Terminal.note("the manifest of `\(name)` can't be read: its part files and sessions are left alone")
      return
    }
    let writer = LedgerWriter(ledger) { _ in }
    let setUp = try EngineSetUp(
      job: job, stateFolder: state.folder(name), ledger: ledger, writer: writer, run: 0, board: LiveBoard(),
      events: DiagnosticText.tell)
    defer { setUp.shutDown() }
    for orphan in try await Orphans.clear(setUp.context, remove: !dryRun) {
      if let obstacle = orphan.obstacle {
        left += 1
        Terminal.note(
          "the \(orphan.kind.rawValue) of `\(name)` can't be removed now: \(orphan.place): \(obstacle)")
        continue
      }
      items.append(
        tell(name, orphan.kind.rawValue, orphan.place, transfer: orphan.transfer, bytes: orphan.bytes))
    }
    try writer.close()
  }

  private func tell(_ job: String, _ kind: String, _ place: String, transfer: String?, bytes: Int64?) -> JSON
  {
    if !common.json {
      let size = bytes.map { ", \(Figures.bytes($0))" } ?? ""
      Terminal.out(
        "\(dryRun ? "would remove" : "removed") \(kind) of `\(job)`: \(DisplayText.safe(place))\(size)\n")
    }
    return [
      "job": .string(job), "kind": .string(kind), "place": .string(place), "transfer": .text(transfer),
      "bytes": .int(bytes),
    ]
  }
}
