import JobModel

/// A job's `limits` for people: `2 transfers, 4 requests, 2 to a host, 5 MB/s, 300 KB a month`.
enum LimitsText {
  /// Nil where they cap nothing.
  static func text(_ limits: JobLimits) -> String? {
    var parts: [String] = []
    func add(_ limit: FlightLimit?, _ text: (Int) -> String) {
      if let number = limit?.number { parts.append(text(number)) }
    }
    add(limits.transfers) { Figures.count($0, "transfer") }
    add(limits.connectionsTotal) { Figures.count($0, "request") }
    add(limits.connectionsPerHost) { "\(Figures.count($0, "request")) to a host" }
    let bandwidth = Bandwidth(
      download: limits.downloadRate ?? .unlimited, upload: limits.uploadRate ?? .unlimited)
    if bandwidth != Bandwidth(download: .unlimited, upload: .unlimited) {
      parts.append(Figures.bandwidth(bandwidth))
    }
    if let budget = limits.budget {
      parts.append("\(Figures.setting(budget.bytes)) a \(budget.period.rawValue)")
    }
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }
}
