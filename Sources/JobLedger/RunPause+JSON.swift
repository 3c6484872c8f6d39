import JobModel

extension RunPause {
  /// A run's column; empty for a run of an older haul.
  static func read(_ text: String?) -> [RunPause] {
    (JSON(Array((text ?? "[]").utf8))?.array ?? []).compactMap { pause in
      guard let reason = pause["reason"].string.flatMap(Reason.init(rawValue:)),
        let start = pause["from"].double
      else { return nil }
      return RunPause(reason, of: pause["of"].string, from: start, to: pause["to"].double)
    }
  }

  static func text(_ pauses: [RunPause]) -> String {
    JSON.array(
      pauses.map {
        [
          "reason": .string($0.reason.rawValue), "of": .text($0.subject), "from": .exact($0.startedAt),
          "to": $0.endedAt.map { .exact($0) } ?? .null,
        ]
      }
    ).text
  }
}
