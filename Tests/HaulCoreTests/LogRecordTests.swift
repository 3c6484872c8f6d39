import JobModel
import Testing
import TestSupport

@testable import HaulCore

struct LogRecordTests {
  /// systemd reads `<N>` at a line's beginning, N from syslog(3).
  @Test(
    arguments: [
      ("critical", 2), ("error", 3), ("warning", 4), ("notice", 5), ("info", 6), ("debug", 7), ("trace", 7),
    ])
  func journalPriorities(_ level: String, _ priority: Int) {
    #expect(LogRecord(level: level, message: "m").line(.journal, at: "T") == "<\(priority)>m\n")
  }

  /// A stranger's line break begins no record of its own, with a priority of its choice.
  @Test func oneLineARecord() {
    let record = LogRecord(
      level: "error", message: "a\n<0>b",
      facts: [.init("file", "x\ny"), .init("hint", .null), .init("n", .int(1))])
    #expect(record.line(.journal, at: "T") == "<3>a\\x0a<0>b file=x\\x0ay\n")
    #expect(record.line(.text, at: "T") == "T error: a\\x0a<0>b file=x\\x0ay\n")
    #expect(
      record.line(.json, at: "T")
        == #"{"at":"T","level":"error","message":"a\n<0>b","file":"x\ny","hint":null,"n":1}"# + "\n")
  }

  @Test(arguments: [["--log-format=journal"], ["--log-format", "journal"]])
  func messagesForTheJournal(_ arguments: [String]) throws {
    let fixture = try CoreFixture()
    let console = try fixture.console(arguments)
    console.print(End(.usage, "bad", hint: "good"))
    console.note("done")
    console.print([Diagnostic(.warning, "perhaps")])
    #expect(try fixture.printed("errors") == "<3>bad hint=good\n<6>done\n<4>perhaps\n")
  }
}
