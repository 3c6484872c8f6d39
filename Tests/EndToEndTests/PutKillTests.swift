import Foundation
import TestSupport
import Testing

/// Killed at seeded instants, run to the end: a PUT has no second half, so that it is made again whole, and the file has
/// its name once.
@Suite(.turns)
struct PutKillTests {
  private static let size = (4 << 20) + 5

  @Test(.enabled(if: Nginx.isInstalled, "needs nginx"), arguments: ["replace", "fail"])
  func kills(_ ifExists: String) async throws {
    try await RemoteKills.torture("http upload, \(ifExists)", cost: Self.size, resumes: false) { seed in
      let bench = try Bench()
      let server = try await Nginx(bench)
      try bench.source("a.bin", size: Self.size, seed: seed)
      try bench.writeJob(
        """
        version: 1
        job: killed
        endpoints: { web: { type: http, url: \(quoted(server.url)) } }
        defaults: { policy: { bandwidth: 4MiB/s } }
        transfers: [{ id: one, upload: a.bin, to: "web:in/one.bin", if_exists: \(ifExists) }]
        """)
      let puts = { server.log().filter { $0["method"].string == "PUT" } }
      let taken = { puts().filter { 200..<300 ~= $0["status"].int ?? 0 } }
      return RemoteKills.Round(
        bench: bench, span: 1000, isBegun: { server.isReceiving }, isOver: { !taken().isEmpty },
        settle: { _ throws -> Int64 in
          #expect(try Sums.file(bench.served + "/in/one.bin") == Sums.file(bench.job + "/a.bin"))
          #expect(try FileManager.default.contentsOfDirectory(atPath: bench.served + "/in") == ["one.bin"])
          // What a killed run had put there is known again by its bytes.
          if ifExists == "fail" { #expect(taken().count == 1, "\(puts())") }
          return Int64((puts().count - 1) * Self.size)
        })
    }
  }
}
