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

  @Option(help: "How many of the newest runs are kept.")
  var keep = 30

  @OptionGroup var common: CommonOptions

  func run() async throws {
    let state = common.stateFolder
    let names = try job.map { [try state.resolve($0)] } ?? state.jobs
    var items: [JSON] = []
    var left = 0
    for name in names {
      do { items += try await clear(name, state, left: &left) } catch let error as LedgerError {
        throw End(.cannotCreate, error.description)
      }
    }
    if common.json {
      let json: JSON = ["schema": "haul.gc/v1", "dry_run": .bool(dryRun), "items": .array(items)]
      Terminal.out(json.text + "\n")
    } else if items.isEmpty, left == 0 {
      Terminal.out("nothing to remove\n")
    }
    guard left == 0 else {
      throw End(.incomplete, "\(left) of them are still there", hint: "run `haul gc` again later")
    }
  }

  /// - Parameter left: counts what could not be removed.
  private func clear(_ name: String, _ state: StateFolder, left: inout Int) async throws -> [JSON] {
    guard let lock = try RunLock.take(state.folder(name), waiting: false) else {
      Terminal.talk("haul: the job `\(name)` is running: left alone\n")
      return []
    }
    defer { withExtendedLifetime(lock) {} }
    let ledger = try state.open(name)
    var items = try ledger.forgetRuns(keeping: keep, remove: !dryRun).map { number in
      tell(name, "run", "run \(number)", transfer: nil, bytes: nil)
    }
    if !dryRun { state.prune(name) }
    guard let path = try ledger.meta("manifest"), let file = try? ManifestFile(path),
      let job = file.read(overrides: try ledger.lastRun()?.overrides ?? [:]).job
    else {
      Terminal.talk(
        "haul: the manifest of `\(name)` can't be read: its part files and sessions are left alone\n")
      return items
    }
    let writer = LedgerWriter(ledger) { _ in }
    let setUp = try EngineSetUp(
      job: job, stateFolder: state.folder(name), ledger: ledger, writer: writer, run: 0, board: LiveBoard(),
      events: DiagnosticText.tell)
    defer { setUp.shutDown() }
    for orphan in try await Orphans.clear(setUp.context, remove: !dryRun) {
      if let obstacle = orphan.obstacle {
        left += 1
        Terminal.talk(
          "haul: the \(orphan.kind.rawValue) of `\(name)` can't be removed now: \(DisplayText.safe(orphan.place)): \(obstacle)\n"
        )
        continue
      }
      items.append(
        tell(name, orphan.kind.rawValue, orphan.place, transfer: orphan.transfer, bytes: orphan.bytes))
    }
    try writer.close()
    return items
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
