import JobModel
import Locks
import Testing

@testable import Admission

struct HostRatesTests {
  private static let host = HostRate(origin: "http://h:80", direction: .download)

  /// A weighted mean, each host and direction alone; what is too small to tell is left out.
  @Test func means() {
    let rates = HostRates([Self.host: 1000])
    rates.measured(Self.host, bytes: HostRates.leastSample - 1, seconds: 1)
    rates.measured(Self.host, bytes: HostRates.leastSample, seconds: 0)
    #expect(rates[Self.host] == 1000)
    rates.measured(Self.host, bytes: 2_000_000, seconds: 1000)
    #expect(rates[Self.host] == 1250)
    let other = HostRate(origin: "http://h:80", direction: .upload)
    #expect(rates[other] == nil)
    rates.measured(other, bytes: 2_000_000, seconds: 1)
    #expect(rates[other] == 2_000_000 && rates[Self.host] == 1250)
  }

  /// The state is written to when a mean has moved, not with each request.
  @Test func tellsOfNewsAlone() {
    let told = Locked<[Double]>([])
    let rates = HostRates { _, rate in told.withLock { $0.append(rate) } }
    for index in 0..<1000 {
      rates.measured(Self.host, bytes: 4_000_000, seconds: index.isMultiple(of: 2) ? 1 : 1.2)
    }
    #expect(told.withLock { $0 } == [4_000_000])
    for _ in 0..<1000 { rates.measured(Self.host, bytes: 4_000_000, seconds: 4) }
    #expect((2...8).contains(told.withLock { $0.count }), "\(told.withLock { $0 })")
  }
}
