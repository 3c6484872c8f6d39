import Admission
import JobLedger
import JobModel
import Transfers

/// An event as a line of `haul.event/v1`.
struct EventJSON {
  let run: String
  let attempt: Int

  /// Appends the line, newline included.
  func write(_ event: RunEvent, seq: Int, at time: Double, to bytes: inout [UInt8]) {
    let (name, members) = content(event)
    let all: [JSON.Member] =
      [
        .init("schema", .string("haul.event/v1")), .init("at", CommonJSON.time(time)),
        .init("run", .string(run)), .init("attempt", .int(attempt)), .init("seq", .int(seq)),
        .init("event", .string(name)),
      ] + members
    JSON.object(all).write(to: &bytes)
    bytes.append(UInt8(ascii: "\n"))
  }

  private func content(_ event: RunEvent) -> (String, [JSON.Member]) {
    switch event {
    case .runStarted(let job, let number, let manifest, let digest):
      (
        "run_started",
        [
          .init("job", .string(job)), .init("number", .int(number)), .init("manifest", .text(manifest)),
          .init("manifest_sha256", .text(digest)),
        ]
      )
    case .planCompiled(let change, let transfers):
      (
        "plan_compiled",
        [
          .init("transfers", .int(transfers)), .init("added", .int(change.added)),
          .init("kept", .int(change.kept)), .init("adjusted", .int(change.adjusted)),
          .init("retired", .int(change.retired)), .init("unchanged", .bool(change.isUnchanged)),
        ]
      )
    case .progress(let counts, let sums, let rate):
      ("progress", [.init("totals", CommonJSON.totals(counts, sums)), .init("rate", .double(rate))])
    case .diagnostic(let diagnostic): ("diagnostic", CommonJSON.diagnosticMembers(diagnostic))
    case .runEnded(let outcome, let code, let report):
      (
        "run_ended",
        [
          .init("outcome", .string(outcome.rawValue)), .init("exit_code", .int(Int(code))),
          .init("report", .text(report)),
        ]
      )
    case .engine(let event): content(event)
    }
  }

  private func content(_ event: EngineEvent) -> (String, [JSON.Member]) {
    switch event {
    case .state(let id, let from, let to, let failure, let bytes):
      (
        "transfer_state",
        [
          .init("id", .string(id)), .init("from", .string(from.word)), .init("to", .string(to.word)),
          .init("reason", .text(to.reason)), .init("error", error(failure)),
        ] + (bytes.map { [.init("bytes", sums($0))] } ?? [])
      )
    case .chunk(let id, let index, let bytes, let attempts):
      (
        "chunk_completed",
        [
          .init("id", .string(id)), .init("chunk", .int(index)), .init("bytes", .integer(bytes)),
          .init("attempts", .int(attempts)),
        ]
      )
    case .retry(let id, let delay, let failure):
      (
        "retry_scheduled",
        [.init("id", .string(id)), .init("delay_s", .number(delay)), .init("error", error(failure))]
      )
    case .checked(let id, let check):
      (
        "integrity_checked",
        [
          .init("id", .string(id)), .init("check", .string(check.check)),
          .init("against", .string(check.against.rawValue)), .init("result", .string(check.result.rawValue)),
        ]
      )
    case .held(let name, let hold):
      (
        "policy_held",
        [
          .init("policy", .text(name)), .init("reason", .string(hold.reason.rawValue)),
          .init("until", CommonJSON.time(hold.until)),
        ]
      )
    case .released(let name, let reason):
      ("policy_released", [.init("policy", .text(name)), .init("reason", .string(reason.rawValue))])
    case .bandwidth(let name, let bandwidth):
      (
        "bandwidth_changed",
        [.init("policy", .text(name)), .init("bandwidth", CommonJSON.bandwidth(bandwidth))]
      )
    case .host(let news):
      (
        "host_state",
        [
          .init("host", .string(news.host)), .init("change", .string(news.change.word)),
          .init("reason", .string(news.change.reason)),
        ]
      )
    case .diagnostic(let diagnostic):
      ("diagnostic", CommonJSON.diagnosticMembers(RecordedDiagnostic(diagnostic)))
    }
  }

  private func sums(_ bytes: MovedBytes) -> JSON {
    [
      "transferred": .integer(bytes.transferred), "reused": .integer(bytes.reused),
      "discarded": .integer(bytes.discarded),
    ]
  }

  /// The event's own time says when.
  private func error(_ failure: Failure?) -> JSON {
    guard let failure, case .object(let members) = CommonJSON.error(failure, at: nil) else { return .null }
    return .object(members.filter { $0.name != "at" })
  }
}
