package import JobLedger
package import JobModel

/// The runs of a job, newest first: `haul.history/v1`, and lines for people.
package struct History {
  private let job: String
  private let runs: [RunRecord]
  private let zone: CivilZone

  /// - Parameters:
  ///   - runs: newest first.
  ///   - zone: of the times for people.
  package init(job: String, runs: [RunRecord], zone: CivilZone = .utc) {
    self.job = job
    self.runs = runs
    self.zone = zone
  }

  package func writeJSON(toolVersion: String, to sink: @escaping ByteSink) throws {
    let stream = JSONStream(sink)
    try stream.beginObject()
    try stream.member("schema", .string("haul.history/v1"))
    try stream.member("tool", CommonJSON.tool(toolVersion))
    try stream.member("job", ["name": .string(job)])
    try stream.beginArray("runs")
    // A run a line: thousands are read by other tools.
    for run in runs { try stream.line(.object(members(run))) }
    stream.end()
    stream.end()
    try stream.finish()
  }

  private func members(_ run: RunRecord) -> [JSON.Member] {
    let totals = run.totals?.members ?? RunTotals.names.map { .init($0, .null) }
    return [
      .init("id", .string(run.id)), .init("number", .int(run.number)),
      .init("started_at", CommonJSON.time(run.startedAt)), .init("ended_at", CommonJSON.time(run.endedAt)),
      .init("duration_s", .double(run.endedAt.map { max(0, $0 - run.startedAt) })),
      .init("active_s", .double(activeSeconds(run))), .init("outcome", .text(run.outcome?.rawValue)),
      .init("exit_code", .int(run.exitCode)), .init("only", .text(run.scope?.pattern)),
      .init("selection", .text(run.scope?.kind)),
    ]
      // The attempts are counted also where a kill left no totals.
      + totals.filter { $0.name != "bytes_transferred" } + [
        .init("bytes_transferred", .integer(bytes(run))), .init("attempt_count", .int(run.attempts.count)),
        .init("attempts", .array(run.attempts.map(CommonJSON.attempt))),
      ]
  }

  /// One line a run, in columns; without the runs' ids where the terminal's lines are too short for them.
  ///
  /// - Parameter columns: nil where there is no terminal.
  package func text(columns: Int? = nil) -> String {
    guard !runs.isEmpty else { return "\(DisplayText.safe(job)): no runs yet\n" }
    let head = [
      "RUN", "STARTED", "TIME", "OUTCOME", "EXIT", "DONE", "SAME", "FAILED", "LEFT", "MOVED", "RETRIES", "ID",
    ]
    let rows = [head] + runs.map(row)
    let text = Columns.text(rows)
    let most = text.split(separator: "\n").map(\.count).max() ?? 0
    return most <= columns ?? .max ? text : Columns.text(rows.map { Array($0.dropLast()) })
  }

  private func row(_ run: RunRecord) -> [String] {
    let tries = run.attempts.count > 1 ? "\(run.number)/\(run.attempts.count)" : String(run.number)
    func count(_ value: (RunTotals) -> Int) -> String { run.totals.map { String(value($0)) } ?? "-" }
    return [
      tries, LocalTime.text(run.startedAt, zone), activeSeconds(run).map(Figures.duration) ?? "-",
      run.outcome?.rawValue ?? "running", run.exitCode.map { String($0) } ?? "-",
      count(\.counts.completed), count(\.counts.upToDate),
      count(\.counts.failed),
      count { $0.counts.paused + $0.counts.queued + $0.counts.running }, Figures.bytes(bytes(run)),
      count { Int(clamping: $0.sums.retries) }, run.id,
    ]
  }

  /// Seconds that its attempts ran; nil while one does.
  private func activeSeconds(_ run: RunRecord) -> Double? {
    let spans = run.attempts.map { attempt in attempt.endedAt.map { max(0, $0 - attempt.startedAt) } }
    return spans.contains(nil) || spans.isEmpty ? nil : spans.compactMap(\.self).reduce(0, +)
  }

  private func bytes(_ run: RunRecord) -> Int64 { run.attempts.reduce(0) { $0 + $1.bytesTransferred } }
}
