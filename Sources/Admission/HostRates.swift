package import JobModel
import Locks

/// How fast hosts move a body on one connection: weighted means of the requests that moved enough to tell.
package final class HostRates: Sendable {
  private struct State {
    var rates: [HostRate: Double]
    var told: [HostRate: Double]
  }

  /// Bytes of the smallest body that is measured: with fewer, a request takes its time for other things.
  static let leastSample: Int64 = 1 << 20
  /// What the newest request counts in the mean.
  private static let weight = 0.25
  /// A mean is told of once it differs from what was told last by this factor: chunks differ by 2.
  private static let step = 1.25

  private let state: Locked<State>
  private let tell: @Sendable (HostRate, Double) -> Void

  /// - Parameters:
  ///   - known: bytes per second, from runs before.
  ///   - tell: called with a mean that is to be kept.
  package init(
    _ known: [HostRate: Double] = [:], tell: @escaping @Sendable (HostRate, Double) -> Void = { _, _ in }
  ) {
    // The first measurement of a run is told, so that a steady rate does not grow old.
    state = Locked(State(rates: known, told: [:]))
    self.tell = tell
  }

  /// Bytes per second on one connection; nil where nothing is known.
  package subscript(_ host: HostRate) -> Double? { state.withLock { $0.rates[host] } }

  /// A request has moved its body in so many seconds.
  package func measured(_ host: HostRate, bytes: Int64, seconds: Double) {
    guard bytes >= Self.leastSample, seconds > 0 else { return }
    let rate = Double(bytes) / seconds
    let news: Double? = state.withLock { state in
      let mean = state.rates[host].map { $0 + (rate - $0) * Self.weight } ?? rate
      state.rates[host] = mean
      if let told = state.told[host], mean < told * Self.step, mean > told / Self.step { return nil }
      state.told[host] = mean
      return mean
    }
    if let news { tell(host, news) }
  }
}
