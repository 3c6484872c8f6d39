import Foundation
import TestSupport

/// Runs that are stopped, or met, while something is under way.
enum Midway {
  /// Waits until an events file has at least so many completed chunks of each of the transfers.
  static func chunks(_ count: Int, of ids: [String], in events: String, _ running: Running) async throws {
    for _ in 0..<3000 {
      let done = JSON.lines(events).filter { $0["event"].string == "chunk_completed" }
      if ids.allSatisfy({ id in done.count { $0["id"].string == id } >= count }) { return }
      guard running.isAlive else { throw TestFault("haul ended before its chunks: \(running.errors)") }
      try await Task.sleep(for: .milliseconds(10))
    }
    throw TestFault("no chunks were completed")
  }

  /// Starts the job and stops it by a signal when each transfer has so many chunks; its report.
  static func stop(_ bench: Bench, after count: Int, of ids: [String], by signal: Int32 = SIGINT) async throws
    -> HaulRun
  {
    let events = bench.scratch.path + "/midway-\(UUID().uuidString.prefix(6)).jsonl"
    let running = try bench.start(bench.runArguments(["--events", events]))
    try await chunks(count, of: ids, in: events, running)
    running.signal(signal)
    return try await HaulRun(try await running.wait(), reportPath: bench.reportPath)
  }

  /// Starts the job, does something to it when each transfer has so many chunks, and waits for its end.
  static func meet(_ bench: Bench, after count: Int, of ids: [String], _ body: () throws -> Void) async throws
    -> HaulRun
  {
    let events = bench.scratch.path + "/midway-\(UUID().uuidString.prefix(6)).jsonl"
    let running = try bench.start(bench.runArguments(["--events", events]))
    try await chunks(count, of: ids, in: events, running)
    try body()
    return try await HaulRun(try await running.wait(.seconds(90)), reportPath: bench.reportPath)
  }
}
