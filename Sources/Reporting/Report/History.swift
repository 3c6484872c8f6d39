package import JobLedger
import JobModel

/// The runs of a job, newest first: `haul.history/v1`, and lines for people.
package struct History {
  private let job: String
  private let runs: [RunRecord]

  /// - Parameter runs: newest first.
  package init(job: String, runs: [RunRecord]) {
    self.job = job
    self.runs = runs
  }

  package func writeJSON(toolVersion: String, to sink: @escaping ByteSink) throws {
    let stream = JSONStream(sink)
    try stream.beginObject()
    try stream.member("schema", .string("haul.history/v1"))
    try stream.member("tool", CommonJSON.tool(toolVersion))
    try stream.member("job", ["name": .string(job)])
    try stream.beginArray("runs")
    for run in runs {
      let duration = run.endedAt.map { max(0, $0 - run.startedAt) }
      try stream.element([
        "id": .string(run.id), "number": .int(run.number), "started_at": CommonJSON.time(run.startedAt),
        "ended_at": CommonJSON.time(run.endedAt), "duration_s": .double(duration),
        "outcome": .text(run.outcome?.rawValue), "exit_code": .int(run.exitCode),
        "only": .text(run.scope?.pattern), "selection": .text(run.scope?.kind),
        "bytes_transferred": .integer(bytes(run)), "attempts": .array(run.attempts.map(CommonJSON.attempt)),
      ])
    }
    stream.end()
    stream.end()
    try stream.finish()
  }

  /// One line a run, in columns.
  package var text: String {
    guard !runs.isEmpty else { return "\(DisplayText.safe(job)): no runs yet\n" }
    let rows =
      [["RUN", "STARTED", "OUTCOME", "EXIT", "ATTEMPTS", "TIME", "TRANSFERRED", "ID"]]
      + runs.map { run in
        [
          String(run.number), Timestamp.text(run.startedAt), run.outcome?.rawValue ?? "running",
          run.exitCode.map { String($0) } ?? "-", String(run.attempts.count),
          run.endedAt.map { Figures.duration($0 - run.startedAt) } ?? "-", Figures.bytes(bytes(run)), run.id,
        ]
      }
    return Columns.text(rows)
  }

  private func bytes(_ run: RunRecord) -> Int64 { run.attempts.reduce(0) { $0 + $1.bytesTransferred } }
}
