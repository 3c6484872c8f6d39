import CPosix
import Glibc
package import JobModel
import Synchronization

/// The rate limits of one policy, shared by all transfers under it.
package final class Throttle: Sendable {
  private struct Buckets {
    var download: TokenBucket
    var upload: TokenBucket
  }
  private let buckets: Mutex<Buckets>
  /// Bytes a second of the tighter limit; nil where nothing limits.
  package let smallestRate: Int64?

  package init(_ policy: EffectivePolicy) {
    func number(_ rate: Rate) -> Double? {
      switch rate {
      case .unlimited: nil
      case .bytesPerSecond(let bytes): Double(bytes)
      }
    }
    let download = number(policy.downloadRate)
    let upload = number(policy.uploadRate)
    smallestRate = [download, upload].compactMap { $0 }.min().map { Int64($0) }
    buckets = Mutex(Buckets(download: TokenBucket(rate: download), upload: TokenBucket(rate: upload)))
  }

  /// Notes bytes that moved; returns the seconds to pause for.
  package func moved(_ count: Int, _ direction: Direction) -> Double {
    guard smallestRate != nil else { return 0 }
    let now = Self.now()
    return buckets.withLock { buckets in
      switch direction {
      case .download: buckets.download.take(count, now: now)
      case .upload: buckets.upload.take(count, now: now)
      }
    }
  }

  /// Seconds on the monotonic clock.
  private static func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
