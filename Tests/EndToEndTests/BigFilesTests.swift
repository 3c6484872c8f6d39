import Foundation
import TestSupport
import Testing

/// 200 MiB each way where no other suite has them: a web server, and depot's sessions.
@Suite(.turns, .enabled(if: Nginx.isInstalled, "needs nginx"))
struct BigFilesTests {
  @Test func twoHundredMebibytesEachWay() async throws {
    let bench = try Bench()
    let (nginx, depot) = (try await Nginx(bench), try await Depot(bench))
    let size = 200 << 20
    try bench.serve("down.bin", size: size, seed: 1)
    try bench.source("up.bin", size: size + 1, seed: 2)
    let run = try await bench.run(
      """
      version: 1
      job: big
      endpoints:
        web: { type: http, url: \(quoted(nginx.url)) }
        depot: \(depot.endpoint)
      transfers:
        - { id: web-down, download: "web:down.bin", to: web.bin }
        - { id: web-up, upload: up.bin, to: "web:in/web.bin" }
        - { id: depot-down, download: "depot:down.bin", to: depot.bin }
        - { id: depot-up, upload: up.bin, to: "depot:in/depot.bin" }
      """, limit: .seconds(240))
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.faults == "")
    for name in ["web", "depot"] {
      #expect(try bench.isSame("\(name).bin", "down.bin"))
      #expect(try bench.isSame("up.bin", "in/\(name).bin"))
    }
    #expect(run.transferred == Int64(4 * size + 2))
  }
}
