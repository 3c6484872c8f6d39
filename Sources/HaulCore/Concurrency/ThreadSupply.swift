import CPosix
import Dispatch
import Glibc
import JobModel
import Posix
import Synchronization

/// The threads that this process may still start. Where the limit of processes leaves none, work that was handed to another
/// thread would wait for ever.
package enum ThreadSupply {
  /// As many as a run has at once, and some: the network's, the ledger's, one a core for tasks and one for blocking work.
  private static var needed: Int { min(64, 8 + 2 * Machine.cores) }
  /// Seconds for which tasks may stand still before it is asked why.
  private static let patience = 10.0
  private static let lastBeat = Atomic<UInt64>(0)

  /// Throws where too few threads can be started.
  package static func check() throws {
    guard haul_try_threads(Int32(needed)) == 0 else { throw shortage("\(needed) threads can't be started") }
  }

  /// Calls `ended` once tasks stand still and no thread can be started.
  package static func watch(_ ended: @escaping @Sendable (End) -> Void) {
    beat()
    Task.detached {
      while true {
        beat()
        try await Task.sleep(for: .seconds(1))
      }
    }
    DedicatedThread.start {
      while true {
        sleep(2)
        let last = lastBeat.load(ordering: .relaxed)
        let now = DispatchTime.now().uptimeNanoseconds
        // Another processor's beat may be a little ahead of this one's clock.
        let stood = now > last ? Double(now - last) / 1e9 : 0
        guard stood > patience, haul_try_threads(1) != 0 else { continue }
        ended(shortage("no thread can be started, and work waits for one"))
      }
    }
  }

  private static func beat() { lastBeat.store(DispatchTime.now().uptimeNanoseconds, ordering: .relaxed) }

  private static func shortage(_ what: String) -> End {
    End(
      .incomplete, "\(what): \(SystemError(EAGAIN))",
      hint:
        "raise the limit of processes (`ulimit -u`, the container's or the unit's limit of pids), then run the same command again"
    )
  }
}
