import JobLedger
package import JobModel

/// Objects that reports, events and the output of other commands share.
package enum CommonJSON {
  /// `{ "download": 5000000, "upload": "unlimited" }`; null where there is none.
  package static func bandwidth(_ bandwidth: Bandwidth?) -> JSON {
    func json(_ rate: Rate) -> JSON {
      switch rate {
      case .unlimited: .string("unlimited")
      case .bytesPerSecond(let bytes): .integer(bytes)
      }
    }
    return bandwidth.map { ["download": json($0.download), "upload": json($0.upload)] } ?? .null
  }

  static func time(_ seconds: Double?) -> JSON { .text(seconds.map(Timestamp.text)) }

  /// `{ "index": 3, "count": 16 }`; null for a whole job.
  ///
  /// - Parameter whole: transfers of all parts together; nil where that is not told.
  package static func shard(_ shard: Shard?, of whole: Int64? = nil) -> JSON {
    guard let shard else { return .null }
    let members: [JSON.Member] = [.init("index", .int(shard.index)), .init("count", .int(shard.count))]
    return .object(members + (whole.map { [JSON.Member("whole", .integer($0))] } ?? []))
  }

  static func tool(_ version: String) -> JSON { ["name": .string("haul"), "version": .string(version)] }

  static func masked(_ text: String?) -> JSON { .text(text.map(Masking.text)) }

  static func diagnostic(_ diagnostic: RecordedDiagnostic) -> JSON {
    .object(diagnosticMembers(diagnostic))
  }

  static func diagnosticMembers(_ diagnostic: RecordedDiagnostic) -> [JSON.Member] {
    [
      .init("severity", .string(diagnostic.severity)), .init("message", masked(diagnostic.message)),
      .init("place", .text(diagnostic.place)), .init("hint", masked(diagnostic.hint)),
    ]
  }

  static func notice(_ notice: NoticeRecord) -> JSON {
    [
      "on": .string(notice.event.rawValue), "kind": .string(notice.kind), "target": .string(notice.target),
      "state": .string(notice.state.rawValue), "tries": .int(notice.tries), "error": masked(notice.error),
    ]
  }

  static func error(_ failure: Failure, at time: Double?) -> JSON {
    [
      "code": .string(failure.code.rawValue), "message": masked(failure.message),
      "hint": .string(failure.code.hint), "retryable": .bool(failure.code.isRetryable),
      "http_status": .int(failure.httpStatus), "chunk": .int(failure.chunk),
      "expected": masked(failure.expected), "actual": masked(failure.actual), "at": CommonJSON.time(time),
    ]
  }

  /// How many transfers are in which state.
  static func states(_ counts: StateCounts) -> JSON { .object(stateMembers(counts)) }

  private static func stateMembers(_ counts: StateCounts) -> [JSON.Member] {
    [
      .init("transfers", .int(counts.total)), .init("completed", .int(counts.completed)),
      .init("up_to_date", .int(counts.upToDate)), .init("failed", .int(counts.failed)),
      .init("paused", .int(counts.paused)), .init("canceled", .int(counts.canceled)),
      .init("queued", .int(counts.queued)), .init("skipped", .int(counts.skipped)),
    ]
  }

  static func totals(_ counts: StateCounts, _ sums: TransferSums?) -> JSON {
    var members = stateMembers(counts)
    // Only while a run goes on: a report of an ended one has none.
    if counts.running > 0 { members.append(.init("running", .int(counts.running))) }
    members += [
      .init(
        "bytes",
        [
          "planned": .int(sums?.planned ?? 0), "transferred": .int(sums?.transferred ?? 0),
          "reused": .int(sums?.reused ?? 0), "discarded": .int(sums?.discarded ?? 0),
        ]),
      .init("requests", .int(sums?.requests ?? 0)), .init("retries", .int(sums?.retries ?? 0)),
    ]
    return .object(members)
  }

  static func pause(_ pause: RunPause) -> JSON {
    [
      "reason": .string(pause.reason.rawValue), "subject": masked(pause.subject),
      "started_at": time(pause.startedAt), "ended_at": time(pause.endedAt),
    ]
  }

  static func attempt(_ attempt: AttemptRecord) -> JSON {
    [
      "number": .int(attempt.number), "started_at": time(attempt.startedAt),
      "ended_at": time(attempt.endedAt), "exit_code": .int(attempt.exitCode),
      "bytes_transferred": .integer(attempt.bytesTransferred),
    ]
  }
}
