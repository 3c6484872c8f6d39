import Glibc
import JobLedger
package import JobModel
import Posix
import Reporting

/// `limit`: a job's bandwidth, now and in later runs.
package struct LimitRequest: Sendable {
  /// Nil gives it back to the policies.
  package let limit: Bandwidth?

  /// - Parameter text: a rate, `unlimited` or `default`.
  package init(_ text: String) throws {
    guard text != "default" else {
      limit = nil
      return
    }
    do {
      let rate = try Units.rate(text)
      limit = Bandwidth(download: rate, upload: rate)
    } catch {
      throw End(.usage, "`haul limit`: \(error.message)", hint: "a rate like `5MB/s`, or `default`")
    }
  }

  /// - Returns: whether the job is running, and has applied it.
  package func apply(to name: String, _ state: StateFolder) async throws -> Bool {
    let ledger = try state.open(name)
    do {
      let number = try ledger.request(limit: limit, at: SystemClock.now)
      switch try await ledger.answer(to: number, in: state.folder(name)) {
      case .given: return true
      case .atRest(let lock):
        defer { withExtendedLifetime(lock) {} }
        // The next run begins with it.
        try ledger.settleControl(number, changed: 0, at: SystemClock.now)
        return false
      case .late(let seconds):
        throw End(
          .incomplete,
          "the running job has not answered within \(seconds) s: the limit is recorded, for later runs too"
        )
      }
    } catch let error as LedgerError { throw End(error) }
  }

  package func json(_ name: String, isRunning: Bool) -> JSON {
    ["job": .string(name), "bandwidth": CommonJSON.bandwidth(limit), "running": .bool(isRunning)]
  }

  package func text(_ name: String, isRunning: Bool) -> String {
    "limit: \(Figures.bandwidth(limit)) for `\(name)`\(isRunning ? "" : " from its next run on")"
  }
}
