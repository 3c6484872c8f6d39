import Admission
import Endpoints
import JobModel

/// Sizes of reads and socket buffers under a rate limit. The server counts bytes in socket buffers as sent, so they are kept
/// small.
struct ReceiveWindow {
  /// Bytes that are read at once.
  let step: Int
  /// Bytes of the socket's receive buffer; nil for the kernel's choice.
  let buffer: Int?
  /// Bytes of TCP segments.
  let segment: Int

  /// - Parameter rate: bytes a second of the tightest limit.
  init(_ rate: Double, _ request: WireRequest) {
    let policy = request.policy
    let transfers = policy.transfers.number.map { $0 * policy.chunksInFlight }
    let limits = [policy.connectionsPerHost.number, policy.connectionsTotal.number, transfers]
    // Where all is left to the run: more connections than it starts with bring nothing under a rate limit.
    let lines = min(
      limits.compactMap(\.self).min() ?? ConcurrencyWindow.start, Int(rate / RateLimit.leastShare))
    let share = rate / Double(max(1, lines))
    // As much at once as a small window holds: each read opens it, and reads come in turns, so that servers write so.
    step = max(1024, Int(min(max(4096, share / 32), rate / 64)))
    let host = request.url.host
    let isNear = host == "localhost" || host.hasPrefix("127.") || host == "[::1]"
    // Two round trips of a far server's, or the window would be the limit.
    let wanted = isNear ? max(1024, Int(share * 0.03)) : max(4096, Int(share * 0.43))
    // Beyond what every system grants, the kernel's own choice is the larger one.
    let granted = 200 * 1024
    buffer = isNear ? min(wanted, granted) : wanted <= granted ? wanted : nil
    // The loopback's 64 KiB segments would make a server's buffer hold megabytes.
    segment = min(1460, max(536, Int(share / 64)))
  }

  /// Bytes that a server may have sent ahead: what our buffer holds, as much in its own, and one step.
  var ahead: Double { Double(2 * (buffer ?? 0) + step) }
}
