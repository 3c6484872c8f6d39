import Glibc

/// The clock that only goes forward.
enum Monotonic {
  /// Seconds since some moment before the process began.
  static var now: Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
