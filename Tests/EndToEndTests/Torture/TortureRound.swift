import Foundation
import TestSupport

/// One job, killed again and again, then run to its end.
struct TortureRound {
  enum Victim: CaseIterable { case haul, depot, both }

  struct Result {
    var kills: [Victim: Int] = [:]
    var useful: Int64 = 0
    var again: Int64 = 0
    /// Of each stretch between two kills.
    var stretches: [Int64] = []
    var discarded: Int64 = 0
    var looks = 0
    var files = 0
    /// What was wrong; empty where all was well.
    var faults: [String] = []
    var partial: [String] = []

    var killed: Int { kills.values.reduce(0, +) }
  }

  let job: TortureJob
  let bench: Bench
  private let seed: UInt64
  static let mostKills = 12
  private static let limit = Duration.seconds(180)

  init(seed: UInt64) throws {
    self.seed = seed
    job = TortureJob(seed: seed)
    bench = try Bench()
  }

  func run(atMost most: Int) async throws -> Result {
    var random = SeededRandom(seed &+ 1)
    var result = Result()
    result.useful = job.useful
    result.files = job.files.count
    let witness = try Witness(try job.furnish(bench))
    var depot = try await Depot(bench, faults: TortureJob.slowly)
    try bench.writeJob(try job.manifest(depot, bench))
    var again = MovedAgain()
    var seen = 0
    var haul = try bench.start(bench.runArguments())
    for _ in 0..<min(most, Int.random(in: 6...Self.mostKills, using: &random)) {
      let victim = [Victim.haul, .haul, .depot, .both][Int.random(in: 0..<4, using: &random)]
      let instant = Int.random(in: 5..<700, using: &random)
      let rest = Int.random(in: 0..<150, using: &random)
      try await Task.sleep(for: .milliseconds(instant))
      guard haul.isAlive else { break }
      if victim != .haul { depot.process.signal(SIGKILL) }
      if victim != .depot { haul.signal(SIGKILL) }
      if victim != .haul { _ = try await depot.process.wait() }
      if victim != .depot, try await haul.wait().status != 128 + SIGKILL { break }
      result.kills[victim, default: 0] += 1
      try await Task.sleep(for: .milliseconds(rest))
      let log = try await depot.log()
      again.take(log[seen...])
      seen = log.count
      if victim != .haul { depot = try await Depot(bench, faults: TortureJob.slowly, port: depot.port) }
      if victim != .depot { haul = try bench.start(bench.runArguments()) }
    }
    // A run whose tries were used up while depot was away ends with 75, and goes on like any other.
    var end = try await haul.wait(Self.limit)
    for _ in 0..<3 where [75, 128 + SIGKILL].contains(end.status) {
      end = try await bench.start(bench.runArguments()).wait(Self.limit)
    }
    let run = try await HaulRun(end, reportPath: bench.reportPath)
    again.take(try await depot.log()[seen...])
    (result.again, result.stretches) = (again.bytes, again.stretches)
    result.discarded = run.totals["bytes"]["discarded"].int ?? 0
    (result.looks, result.partial) = witness.end()
    if run.status != 0 { result.faults.append("exit code \(run.status): \(run.errors.suffix(1500))") }
    if run.faults != "" { result.faults.append(run.faults) }
    result.faults += untrue(run) + Leftovers.find(bench, job: "torture").map { "left behind: \($0)" }
    result.faults += try EndState(bench, run).differences(from: try await undisturbed())
    await depot.process.end()
    return result
  }

  /// What the report says of single transfers, against what is known of the files.
  private func untrue(_ run: HaulRun) -> [String] {
    var faults: [String] = []
    for file in job.files {
      let told = run[file.id]
      let size = Int64(file.size)
      let (moved, discarded) = (
        told["bytes"]["transferred"].int ?? -1, told["bytes"]["discarded"].int ?? -1
      )
      let reused = told["bytes"]["reused"].int ?? -1
      if file.isKept {
        if run.state(file.id) != "skipped exists" { faults.append("\(file.id): \(run.state(file.id))") }
        continue
      }
      if run.state(file.id) != "completed" { faults.append("\(file.id): \(run.state(file.id))") }
      if told["size"].int != size { faults.append("\(file.id): size \(told["size"].int ?? -1), not \(size)") }
      // The last second of a killed attempt may be missing; nothing may be told that was not.
      if moved - discarded > size || reused > size || discarded > moved || min(moved, discarded, reused) < 0 {
        faults.append("\(file.id) of \(size): \(told["bytes"])")
      }
      let proofs = told["verification"].array.filter {
        $0["check"].string == "sha256" && $0["result"].string == "match"
      }
      if proofs.isEmpty { faults.append("\(file.id): no digest proves it") }
    }
    return faults
  }

  /// The same job where nothing goes wrong.
  private func undisturbed() async throws -> EndState {
    let twin = try Bench()
    _ = try job.furnish(twin)
    let depot = try await Depot(twin)
    let run = try await twin.run(try job.manifest(depot, twin), limit: Self.limit)
    guard run.status == 0, run.faults == "" else {
      throw TestFault("the undisturbed run ended with \(run.status): \(run.errors) \(run.faults)")
    }
    defer { depot.process.signal(SIGTERM) }
    return try EndState(twin, run)
  }
}
