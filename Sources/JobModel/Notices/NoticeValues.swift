/// What is known of a run at the moment of an event. What is not known is empty.
package struct NoticeValues: Sendable, Hashable {
  package var runID: String
  package var runDate: String
  package var job: String
  package var number: Int?
  package var outcome: RunOutcome?
  package var exitCode: Int32?
  /// The report's path.
  package var report: String?
  /// Those of the report's totals that are known, by their names there: `failed`, `bytes.planned`.
  package var totals: [String: Int64]

  package init(runID: String, runDate: String, job: String, totals: [String: Int64] = [:]) {
    self.runID = runID
    self.runDate = runDate
    self.job = job
    self.totals = totals
  }

  package func text(_ fact: NoticeFact) -> String {
    switch fact {
    case .number: number.map { "\($0)" } ?? ""
    case .outcome: outcome?.rawValue ?? ""
    case .exitCode: exitCode.map { "\($0)" } ?? ""
    case .report: report ?? ""
    case .job: job
    default: totals[Self.total(fact)].map { "\($0)" } ?? ""
    }
  }

  /// What is not decided is put in; an empty value takes the place of one that is not known.
  package func text(_ text: InterpolatedText) -> String {
    text.parts.map { part in
      switch part {
      case .literal(let text): text
      case .reference(let reference): (try? reference.filtered(value(reference.name), what: "")) ?? ""
      }
    }.joined()
  }

  private func value(_ name: InterpolatedText.Name) -> String {
    switch name {
    case .runID: runID
    case .runDate: runDate
    case .fact(let fact): text(fact)
    case .variable, .environment, .column, .uuid, .source, .file, .id: ""
    }
  }

  /// As environment variables: `HAUL_RUN_EXIT_CODE` is `${run.exit_code}`.
  package var variables: [String: String] {
    var variables = ["HAUL_RUN_ID": runID, "HAUL_RUN_DATE": runDate]
    for fact in NoticeFact.allCases {
      variables["HAUL_" + fact.rawValue.uppercased().replacing(".", with: "_")] = text(fact)
    }
    return variables
  }

  /// The body of a webhook that says none of its own.
  package func json(_ event: NoticeEvent) -> JSON {
    let names = NoticeFact.allCases.map(\.rawValue).filter { $0.hasPrefix(Self.prefix) }.map {
      String($0.dropFirst(Self.prefix.count))
    }
    func members(_ names: [String], below prefix: String = "") -> [JSON.Member] {
      names.map { JSON.Member(String($0.dropFirst(prefix.count)), totals[$0].map { .integer($0) } ?? .null) }
    }
    let bytes = members(names.filter { $0.hasPrefix("bytes.") }, below: "bytes.")
    return [
      "schema": "haul.notice/v1", "event": .string(event.rawValue), "job": .string(job),
      "run": [
        "id": .string(runID), "number": .int(number), "outcome": .text(outcome?.rawValue),
        "exit_code": .int(exitCode.map { Int($0) }), "report": .text(report),
      ], "totals": .object(members(names.filter { !$0.contains(".") }) + [.init("bytes", .object(bytes))]),
    ]
  }

  private static let prefix = "totals."
  private static func total(_ fact: NoticeFact) -> String { String(fact.rawValue.dropFirst(prefix.count)) }
}
