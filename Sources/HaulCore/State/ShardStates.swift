import JobLedger
package import JobModel
import Posix

extension StateFolder {
  /// The folder in a job's own that holds those of its parts.
  static let shards = "shards"
  /// What a ledger says of the part that its plan is; empty for a whole job.
  static let shardMeta = "shard"

  /// The state of one part of each job; nil for that of whole jobs.
  package func part(_ shard: Shard?) -> StateFolder { StateFolder(path: path, shard: shard) }

  /// Where the state of a job's part lies.
  static func folder(of shard: Shard, in job: String) -> String {
    job + "/" + shards + "/" + shard.folderName
  }

  /// What a command is given to mean the same part; begins with a blank.
  var option: String { shard.map { " --shard \($0.text)" } ?? "" }

  /// The job as messages name it, with the part.
  func words(_ job: String) -> String { (shard.map { "shard \($0.text) of " } ?? "") + "the job `\(job)`" }

  /// The parts of a job that have state here, by count and index.
  package func shards(of job: String) -> [Shard] {
    let names = (try? Files.names(in: part(nil).folder(job) + "/" + Self.shards)) ?? []
    return names.compactMap(Shard.init(folderName:)).filter { part($0).exists(job) }.sorted()
  }

  /// The manifest that the job, or a part of it, ran from; nil where none has.
  func knownManifest(of job: String) -> String? {
    // Not `lazy.compactMap {…}.first`, which asks twice: another runner may have changed or removed that state since.
    for known in part(nil).states(of: job) {
      if let manifest = JobLedger.meta("manifest", recordedIn: known.state.folder(job)) { return manifest }
    }
    return nil
  }

  /// The transfer of another part of the job that wrote a file; nil where none did.
  func owner(of file: FileFacts, inOtherPartsOf job: String) -> String? {
    for other in shards(of: job) where other != shard && other.count == shard?.count {
      if let owner = JobLedger.owner(of: file, recordedIn: part(other).folder(job)) { return owner }
    }
    return nil
  }

  /// Names of the jobs that have state, whole or in parts, sorted.
  package var everyJob: [String] {
    ((try? Files.names(in: path)) ?? []).filter { !$0.hasPrefix(".") && hasState(of: $0) }.sorted()
  }

  /// Of the whole job, or of any part.
  func hasState(of job: String) -> Bool {
    let whole = part(nil)
    return whole.exists(job) || Files.isFolder(whole.folder(job) + "/" + Self.shards)
  }

  /// The folders of all jobs that have state here, whole or in parts.
  var jobFolders: [String] { everyJob.map { part(nil).folder($0) } }

  /// What is said where a job's state is not there as it was asked for: where else it has some.
  func absent(_ job: String) -> End {
    let parts = shards(of: job)
    guard let shard else {
      guard let first = parts.first else {
        return End(.noInput, "the job `\(job)` has not been planned or run with this state folder")
      }
      return End(
        .noInput, "the job `\(job)` has run in shards only: \(Self.names(parts))",
        hint: "name one, like `--shard \(first.text)`")
    }
    let hint: String? =
      if !parts.isEmpty {
        "on record: \(Self.names(parts))"
      } else if part(nil).exists(job) {
        "it has run as a whole: leave `--shard` out"
      } else { nil }
    return End(
      .noInput, "shard \(shard.text) of the job `\(job)` has not been planned or run with this state folder",
      hint: hint)
  }

  /// `1/16 to 16/16`, or what of them is there.
  static func names(_ shards: [Shard]) -> String {
    Dictionary(grouping: shards, by: \.count).sorted { $0.key < $1.key }.map { count, shards in
      guard shards.count < count || count < 3 else { return "1/\(count) to \(count)/\(count)" }
      return CauseTally.names(shards.prefix(named).map(\.text), of: shards.count)
    }.joined(separator: ", ")
  }

  /// Parts that a message names at the most, of each count.
  private static let named = 8
}
