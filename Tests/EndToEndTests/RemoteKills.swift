import Foundation
import TestSupport
import Testing

/// Kills at seeded instants, then to the end: what every resumable endpoint has to bear.
enum RemoteKills {
  /// Ends runs of the job that is written with SIGKILL, each at an instant that the seed says, then lets one through.
  ///
  /// - Parameter begun: whether the server has seen bytes; the first kill waits for it.
  /// - Returns: the last run and how many were killed.
  static func run(
    _ bench: Bench, kills: Int = 5, seed: UInt64, environment: [String: String] = [:],
    begun: @Sendable () -> Bool
  ) async throws -> (HaulRun, kills: Int) {
    var state = seed
    var count = 0
    for _ in 0..<kills {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let running = try bench.start(bench.runArguments(), environment: environment)
      try await wait(while: { !begun() && running.isAlive })
      try await Task.sleep(for: .milliseconds(100 + Int(state >> 33) % 400))
      guard running.isAlive else { break }
      running.signal(SIGKILL)
      #expect(try await running.wait(.seconds(10)).status == 128 + SIGKILL)
      count += 1
    }
    let run = try await bench.run(nil, environment: environment)
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.faults == "")
    return (run, count)
  }

  /// Waits until the condition no longer holds.
  static func wait(while condition: () -> Bool) async throws {
    for _ in 0..<3000 {
      guard condition() else { return }
      try await Task.sleep(for: .milliseconds(10))
    }
    throw TestFault("what was waited for did not come")
  }

  /// Files whose sizes are where chunking goes wrong, with a chunk of 1 MiB: name and size.
  static let sizes: [(name: String, size: Int)] = [
    ("one", 1), ("less", (1 << 20) - 1), ("just", 1 << 20), ("more", (1 << 20) + 1), ("large", 200 << 20),
  ]
}
