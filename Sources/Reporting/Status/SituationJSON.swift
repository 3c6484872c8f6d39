import JobLedger
import JobModel

extension JobSituation {
  /// `status` of `haul status --json`.
  ///
  /// - Parameter limit: of hosts, notices and the like in a summary, which has no ids either; nil for all.
  func json(limit: Int?) -> JSON {
    let (waiting, next) = (waiting.prefix(limit ?? .max), next.prefix(limit ?? .max))
    return [
      "at": CommonJSON.time(at), "running": .bool(isRunning),
      "bytes": [
        "there": .int(bytesThere), "planned": .int(standing.plannedBytes),
        "unknown_sizes": .int(standing.unknownSizes), "budget_left": .int(budgetLeft),
      ],
      "rate": .double(rate), "time_left_s": .double(timeLeft),
      "in_flight": .array(
        inFlight.prefix(limit == nil ? .max : 0).map {
          ["id": .string($0.id), "bytes": .int($0.done), "size": .int($0.size)]
        }),
      "waiting": .array(
        waiting.map { waiting in
          [
            "state": .string(waiting.state.word), "reason": .text(Self.reason(waiting.state)),
            "subject": .text(waiting.subject.map { Masking.text(limit == nil ? $0 : String($0.prefix(80))) }),
            "count": .int(waiting.count),
            "ids": .array(limit == nil ? waiting.ids.map { .string($0) } : []),
            "until": CommonJSON.time(waiting.until),
          ]
        }),
      "next": .array(
        next.map {
          [
            "at": CommonJSON.time($0.at), "event": .string($0.event.rawValue),
            "subject": .text($0.subject.map(Masking.text)),
          ]
        }),
    ]
  }

  /// The id of `needs:ID` is the subject.
  private static func reason(_ state: TransferState) -> String? {
    if case .queued(.needs) = state { "needs" } else { state.reason }
  }
}
