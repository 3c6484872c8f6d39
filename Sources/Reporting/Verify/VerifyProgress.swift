import JobModel

/// How far a verification is, for who watches.
package struct VerifyProgress: Sendable {
  /// Bytes of local files that were read before this process went on.
  private let bytesBefore: Int64
  private var meter = RateMeter()
  /// What there is to compare; nil while it is counted.
  package var whole: (transfers: Int, bytes: Int64)?

  package init(bytesBefore: Int64) { self.bytesBefore = bytesBefore }

  /// `12 of 40 transfers (30 %), 1.2/5.0 GiB read, 350 MiB/s, 0:12 left, 1 different`.
  ///
  /// - Parameters:
  ///   - bytes: that this process has read.
  ///   - now: seconds on a clock that never goes back.
  package mutating func line(_ totals: VerifyTotals, bytes: Int64, now: Double) -> String {
    meter.sample(bytes, at: now)
    let read = bytesBefore.adding(clamping: bytes)
    var parts: [String] = []
    if let whole, whole.transfers > 0 {
      let share = min(100, totals.compared * 100 / whole.transfers)
      parts.append("\(totals.compared) of \(Figures.count(whole.transfers, "transfer")) (\(share) %)")
    } else {
      parts.append(Figures.count(totals.compared, "transfer"))
    }
    if let whole, whole.bytes >= read {
      parts.append(Figures.bytes(read, of: whole.bytes) + " read")
    } else {
      parts.append(Figures.bytes(read) + " read")
    }
    if let rate = meter.rate, rate >= 1 {
      parts.append(Figures.rate(rate))
      if let whole, whole.bytes > read {
        parts.append(Figures.clock(Double(whole.bytes - read) / rate) + " left")
      }
    }
    if totals.different > 0 { parts.append("\(totals.different) different") }
    return parts.joined(separator: ", ")
  }
}
