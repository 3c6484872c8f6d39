import JobModel
import Testing

/// What notices say, and what of them people see.
struct NoticeTests {
  private static func values(_ exitCode: Int32?) -> NoticeValues {
    var values = NoticeValues(
      runID: "01A", runDate: "2026-01-02", job: "night", totals: ["failed": 3, "bytes.planned": 9])
    values.number = 7
    values.outcome = exitCode.map { $0 == 0 ? .completed : .failed }
    values.exitCode = exitCode
    values.report = "/r.json"
    return values
  }

  private static func text(_ text: String) throws -> InterpolatedText { try InterpolationParser.parse(text) }

  @Test(arguments: [
    ("${run.id} ${run.number} ${run.date}", "01A 7 2026-01-02"),
    ("${run.outcome}/${run.exit_code}", "failed/1"),
    ("${job.name|url}: ${totals.failed} of ${totals.transfers}", "night: 3 of "),
    ("$${x} ${totals.bytes.planned}", "${x} 9"),
  ])
  func filledIn(_ written: String, _ filled: String) throws {
    #expect(Self.values(1).text(try Self.text(written)) == filled)
  }

  /// At the start there is no outcome, and none is made up.
  @Test func unknownIsEmpty() throws {
    #expect(
      Self.values(nil).text(try Self.text("[${run.outcome}${run.exit_code}] ${run.outcome|default(-)}"))
        == "[] -")
    #expect(Self.values(nil).variables["HAUL_RUN_EXIT_CODE"] == "")
    #expect(Self.values(1).variables["HAUL_TOTALS_BYTES_PLANNED"] == "9")
  }

  @Test(
    arguments: [
      (NoticeEvent.start, nil, "/start"), (.success, 0, ""), (.end, 0, ""), (.failure, 1, "/1"),
      (.incomplete, 75, "/75"),
    ] as [(NoticeEvent, Int32?, String)])
  func pings(_ event: NoticeEvent, _ exitCode: Int32?, _ path: String) throws {
    let notice = NoticeTemplate(event, index: 1, .ping(.text(try Self.text("https://h/${job.name}"))))
    #expect(
      notice.message(Self.values(exitCode), folder: "/f") == .ping(url: .text("https://h/night"), path: path))
  }

  @Test func bodies() throws {
    let url = NoticeTemplate.Address.text(try Self.text("https://h"))
    let own = NoticeTemplate.Body.mapping([
      .init("text", .text(try Self.text("\"${job.name}\""))), .init("n", .list([.value(.integer(1))])),
    ])
    let hook = NoticeTemplate(.end, index: 1, .webhook(url: url, json: own, headers: [], sign: nil))
    guard case .webhook(_, let body, _, _) = hook.message(Self.values(0), folder: "/f") else {
      return #expect(Bool(false), "no webhook")
    }
    #expect(body == #"{"text":"\"night\"","n":[1]}"#)
    let json = Self.values(0).json(.success)
    #expect(json["run"]["exit_code"] == .integer(0) && json["totals"]["failed"] == .integer(3))
    #expect(json["totals"]["requests"] == .null, "what is not known is no 0")
    #expect(json["totals"]["bytes"]["planned"] == .integer(9) && json["event"] == "success")
  }

  @Test(arguments: [
    (JobModel.ExitStatus.success, false, [NoticeEvent.success, .end]),
    (.incomplete, false, [.incomplete, .end]),
    (.failed, false, [.failure, .end]), (.invalidManifest, false, [.failure, .end]),
    (.alreadyRunning, false, [.failure, .end]), (.success, true, [.end]),
  ])
  func endings(_ status: JobModel.ExitStatus, _ isSkipped: Bool, _ events: [NoticeEvent]) {
    #expect(NoticeEvent.ending(with: status, isSkipped: isSkipped) == events)
  }

  @Test(arguments: [
    ("https://hooks.example.net/services/T0/key", "https://hooks.example.net/***"),
    ("https://h:8080?key=1", "https://h:8080/***"), ("http://[::1]:9/", "http://[::1]:9"),
    ("https://user:pw@h/x", "https://h/***"), ("nonsense key", "***"),
  ])
  func targetsAreMasked(_ url: String, _ shown: String) {
    #expect(NoticeMessage.masked(url) == shown)
  }
}
