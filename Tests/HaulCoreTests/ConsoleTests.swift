import Endpoints
import Foundation
import JobLedger
import JobManifest
import JobModel
import Testing
import TestSupport

@testable import HaulCore

struct ConsoleTests {
  @Test func dataAndMessagesGoApart() throws {
    let fixture = try CoreFixture()
    let console = try fixture.console()
    console.out("data\n")
    console.note("done")
    console.error("bad", hint: "good")
    #expect(try fixture.printed("out") == "data\n")
    #expect(try fixture.printed("errors") == "haul: done\nhaul: bad\nhint: good\n")
  }

  @Test func quietSaysErrorsAlone() throws {
    let fixture = try CoreFixture()
    let console = try fixture.console(["run", "--quiet"])
    console.note("done")
    console.print([Diagnostic(.warning, "perhaps"), Diagnostic(.error, "surely")])
    #expect(try fixture.printed("errors") == "error: surely\n")
  }

  @Test(arguments: [["--log-format=json"], ["--log-format", "json"]])
  func messagesAsJSON(_ arguments: [String]) throws {
    let fixture = try CoreFixture()
    try fixture.console(arguments).print(End(.usage, "bad", hint: "good"))
    let line = try JSONSerialization.jsonObject(with: Data(try fixture.printed("errors").utf8))
    let members = try #require(line as? [String: String])
    #expect(members["level"] == "error" && members["message"] == "bad" && members["hint"] == "good")
  }

  /// The planner's own count of what it left out is the 101st.
  @Test(arguments: [(100, "error: no 99"), (101, "error: no 100"), (103, "… and 3 more")])
  func manyDiagnosticsAreCounted(_ count: Int, _ last: String) throws {
    let fixture = try CoreFixture()
    try fixture.console().print((0..<count).map { Diagnostic(.error, "no \($0)") })
    let lines = try fixture.printed("errors").split(separator: "\n")
    #expect(lines.count == min(count, 101) && lines.last.map(String.init) == last)
  }

  @Test func outputThatCantBeWrittenIsRemembered() throws {
    let console = Console(
      output: -1, errors: -1, style: Console.Style([]),
      environment: ProcessEnvironment([:], userHome: "/"))
    #expect(console.unwritten == nil)
    console.out("data")
    #expect(console.unwritten?.status == .cannotCreate)
  }

  /// As the live view: where the terminal is said to take it.
  @Test(
    arguments: [
      ([:], false), (["TERM": ""], false), (["TERM": "dumb"], false), (["TERM": "xterm"], true),
      (["TERM": "xterm", "NO_COLOR": ""], true), (["TERM": "xterm", "NO_COLOR": "1"], false),
    ] as [([String: String], Bool)])
  func coloursOfATerminal(_ variables: [String: String], _ areThere: Bool) throws {
    let terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY)
    try #require(terminal >= 0)
    defer { close(terminal) }
    let console = Console(
      output: terminal, errors: -1, style: Console.Style([]),
      environment: ProcessEnvironment(variables, userHome: "/"))
    #expect(console.coloursOutput == areThere && !console.coloursErrors)
  }

  @Test(arguments: [(["a=b"], ["a": "b"]), (["a=b=c", "d="], ["a": "b=c", "d": ""]), ([], [:])])
  func overrides(_ texts: [String], _ values: [String: String]) throws {
    #expect(try Overrides.parse(texts) == values)
  }

  @Test(arguments: ["a", "=b", ""])
  func notAnOverride(_ text: String) throws {
    #expect(try #require(throws: End.self) { try Overrides.parse([text]) }.status == .usage)
  }

  @Test func runIDsSortByTime() {
    #expect(ULID.make(now: 1_000).count == 26)
    #expect(ULID.make(now: 1_000).prefix(10) < ULID.make(now: 1_000.001).prefix(10))
  }
}
