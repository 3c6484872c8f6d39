import Glibc

/// The machine's clocks, in seconds.
package enum SystemClock {
  /// Since 1970, UTC.
  package static var now: Double { read(CLOCK_REALTIME) }
  /// Since some moment before the process began; it only goes forward.
  package static var uptime: Double { read(CLOCK_MONOTONIC) }

  private static func read(_ clock: clockid_t) -> Double {
    var time = timespec()
    clock_gettime(clock, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
