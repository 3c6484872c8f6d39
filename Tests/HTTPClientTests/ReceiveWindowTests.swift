import Endpoints
import JobModel
import Testing

@testable import HTTPClient

/// Buffers under a rate limit, by rate and by how far away the server is.
struct ReceiveFitTests {
  private func fit(_ rate: Double, _ host: String, _ change: (inout EffectivePolicy) -> Void = { _ in })
    throws -> ReceiveWindow
  {
    var policy = EffectivePolicy()
    (policy.transfers, policy.chunksInFlight) = (1, 1)
    change(&policy)
    let target = try AdmittedURL(try #require(WebURL("http://\(host)/a")), for: "GET", policy: policy)
    return ReceiveWindow(rate, WireRequest("GET", target, headers: HeaderList(), body: .none))
  }

  @Test(arguments: [
    (10_000.0, "h", 1024, 4300, 536), (1_000_000, "h", 15_625, nil, 1460), (100_000, "h", 1562, 43_000, 1460),
    (10_000, "127.0.0.1", 1024, 1024, 536), (1_000_000, "localhost", 15_625, 30_000, 1460),
    (1_000_000, "[::1]", 15_625, 30_000, 1460), (100_000_000, "127.0.0.1", 1_562_500, 204_800, 1460),
  ])
  func sizes(_ rate: Double, _ host: String, _ step: Int, _ buffer: Int?, _ segment: Int) throws {
    let fit = try fit(rate, host)
    #expect(fit.step == step && fit.buffer == buffer && fit.segment == segment, "\(fit)")
    #expect(fit.ahead == Double(2 * (buffer ?? 0) + step))
  }

  @Test func connectionsShareTheRate() throws {
    let alone = try fit(400_000, "h")
    let shared = try fit(400_000, "h") { ($0.transfers, $0.chunksInFlight) = (4, 1) }
    #expect(shared.buffer == 43_000 && alone.buffer == 172_000 && shared.step <= alone.step)
  }
}
