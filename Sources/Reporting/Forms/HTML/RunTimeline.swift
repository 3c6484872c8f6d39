import JobModel

/// A run over time, in slices of equal length: what was moved, how many transfers were under way, what failed.
///
/// A report has each transfer's begin, end and bytes, so its bytes are spread evenly over its time.
struct RunTimeline {
  static let slices = 120
  struct Attempt {
    var start: Double
    var end: Double
    var exitCode: Int64?
  }

  struct Pause {
    var reason: String
    var subject: String?
    var start: Double
    var end: Double
  }

  /// Seconds since 1970.
  let start: Double
  let end: Double
  /// Seconds of a slice.
  let width: Double
  let attempts: [Attempt]
  /// When nothing moved, under a policy or to a server.
  let pauses: [Pause]
  private(set) var bytes = Array(repeating: 0.0, count: slices)
  private(set) var underWay = Array(repeating: 0.0, count: slices)
  private(set) var failures = Array(repeating: 0, count: slices)
  /// Retries, by the end of the transfer that they are of.
  private(set) var retries = Array(repeating: 0, count: slices)
  /// Seconds of each slice in which an attempt ran.
  private let active: [Double]

  /// - Parameter now: ends a run that still goes on, seconds since 1970.
  /// - Returns: nil for a run that took no time.
  init?(_ run: JSON, now: Double) {
    func time(_ value: JSON) -> Double? { value.string.flatMap(Timestamp.seconds) }
    guard let start = time(run["started_at"]) else { return nil }
    let end = time(run["ended_at"]) ?? now
    guard end > start else { return nil }
    let width = (end - start) / Double(Self.slices)
    let attempts = (run["attempts"].array ?? []).compactMap { attempt -> Attempt? in
      guard let began = time(attempt["started_at"]) else { return nil }
      return Attempt(
        start: began, end: max(began, time(attempt["ended_at"]) ?? end),
        exitCode: attempt["exit_code"].int64)
    }
    (self.start, self.end, self.width, self.attempts) = (start, end, width, attempts)
    pauses = (run["pauses"].array ?? []).compactMap { pause in
      guard let reason = pause["reason"].string, let began = time(pause["started_at"]), began < end else {
        return nil
      }
      let ended = min(end, time(pause["ended_at"]) ?? end)
      return Pause(
        reason: reason, subject: pause["subject"].string, start: max(start, began), end: max(began, ended))
    }
    active = (0..<Self.slices).map { index in
      let from = start + Double(index) * width
      return attempts.reduce(0) { $0 + max(0, min($1.end, from + width) - max($1.start, from)) }
    }
  }

  mutating func add(_ transfer: JSON) {
    func time(_ value: JSON) -> Double? { value.string.flatMap(Timestamp.seconds) }
    if let failed = time(transfer["error"]["at"]), let slice = slice(failed) { failures[slice] += 1 }
    guard let began = time(transfer["started_at"]) else { return }
    let ended = max(began, time(transfer["ended_at"]) ?? time(transfer["updated_at"]) ?? end)
    if let count = transfer["retries"].int64, count > 0, let slice = slice(ended) {
      retries[slice] += Int(min(count, 1 << 32))
    }
    spread(began, ended, transfer["bytes"]["transferred"].double ?? 0)
  }

  private mutating func spread(_ began: Double, _ ended: Double, _ moved: Double) {
    let first = Int(max(0, min(Double(Self.slices - 1), (began - start) / width)))
    let last = Int(max(0, min(Double(Self.slices - 1), (ended - start) / width)))
    let parts = (first...last).map { index -> Double in
      let from = start + Double(index) * width
      // Nothing moves between two attempts.
      return min(max(0, min(ended, from + width) - max(began, from)), active[index])
    }
    let whole = parts.reduce(0, +)
    for (index, part) in zip(first...last, parts) {
      underWay[index] += part / width
      bytes[index] += whole > 0 ? moved * part / whole : moved / Double(parts.count)
    }
  }

  private func slice(_ time: Double) -> Int? {
    guard time >= start - 1, time <= end + 1 else { return nil }
    return Int(max(0, min(Double(Self.slices - 1), (time - start) / width)))
  }

  /// Bytes a second in each slice.
  var rates: [Double] { bytes.map { $0 / width } }

  /// Where between 0 and 1 a time lies.
  func place(_ time: Double) -> Double { max(0, min(1, (time - start) / (end - start))) }
}
