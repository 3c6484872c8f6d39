import JobModel

/// `prometheus`: the run as gauges in the text format (version 0.0.4), for a node exporter's folder or a Pushgateway.
struct PrometheusForm: FormWriter {
  func write(_ report: any Report, to sink: @escaping ByteSink) throws {
    let members = JSON.object(try report.briefMembers())
    let (run, totals) = (members["run"], members["totals"])
    let evidence = try report.evidence()
    let started = time(run["started_at"])
    var text = Exposition(job: members["job"]["name"].string ?? "")
    text.gauge(
      "last_run_timestamp_seconds", "When the last run ended, or began where it still goes on.",
      time(run["ended_at"]) ?? started)
    text.gauge(
      "last_success_timestamp_seconds", "When a run of the whole job ended with 0 last; 0 where none has.",
      try report.lastSuccess().flatMap { time(.string(Timestamp.text($0))) }
        ?? (report.knowsLastSuccess ? .integer(0) : nil))
    text.gauge(
      "duration_seconds", "How long the last run took, from its first attempt to its end.", run["duration_s"])
    text.gauge("exit_code", "How the last run ended; 0 is success.", run["exit_code"])
    text.gauges(
      "transfers", "Transfers of the plan by state.", label: "state",
      Self.states.map { ($0, totals[$0] == .null ? .integer(0) : totals[$0]) })
    text.gauges(
      "bytes", "Bytes of the last run by kind.", label: "kind",
      ["planned", "transferred", "reused", "discarded"].map { ($0, totals["bytes"][$0]) })
    text.gauge(
      "verified_transfers", "Done transfers of which a digest, or something as good, matched.",
      .int(evidence.verified))
    text.gauge(
      "unverified_transfers", "Done transfers of which nothing but size or type was compared.",
      .int(evidence.unverified))
    text.gauge("retries", "Retries of the last run.", totals["retries"])
    try sink(Array(text.text.utf8))
  }

  private static let states = [
    "queued", "running", "paused", "completed", "up_to_date", "failed", "canceled", "skipped",
  ]

  private func time(_ value: JSON) -> JSON? { value.string.flatMap(Timestamp.seconds).map { .number($0) } }
}

/// Metrics of one job in Prometheus' text format.
private struct Exposition {
  let job: String
  private(set) var text = ""

  init(job: String) { self.job = job }

  /// What is not known is left out.
  mutating func gauge(_ name: String, _ help: String, _ value: JSON?) {
    guard let value, value != .null else { return }
    begin(name, help)
    sample(name, "", value)
  }

  mutating func gauges(_ name: String, _ help: String, label: String, _ values: [(String, JSON)]) {
    begin(name, help)
    for (word, value) in values where value != .null { sample(name, ",\(label)=\"\(word)\"", value) }
  }

  private mutating func begin(_ name: String, _ help: String) {
    text += "# HELP haul_job_\(name) \(help)\n# TYPE haul_job_\(name) gauge\n"
  }

  private mutating func sample(_ name: String, _ labels: String, _ value: JSON) {
    let escaped = job.escaping(["\\": "\\\\", "\"": "\\\"", "\n": "\\n"])
    text += "haul_job_\(name){job=\"\(escaped)\"\(labels)} \(value.text)\n"
  }
}
