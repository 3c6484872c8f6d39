import JobLedger
import JobManifest
import JobModel
import Testing
import TestSupport

@testable import HaulCore

struct LogCausesTests {
  private let cause = Cause(code: "NOT_FOUND", host: "a", message: "gone")

  @Test func theFirstIsSaidAndTheOthersCounted() {
    let causes = LogCauses()
    #expect(causes.note(.failure, cause, id: "one", now: 0))
    #expect(!causes.note(.failure, cause, id: "two", now: 1))
    #expect(!causes.note(.failure, cause, id: "two", now: 2))
    #expect(causes.note(.retry, cause, id: "two", now: 2))
    #expect(causes.due(now: 29, isLast: false).isEmpty)
    let due = causes.due(now: 30, isLast: false)
    #expect(due.map(\.count) == [2] && due.map(\.ids) == [["two"]])
    #expect(causes.due(now: 100, isLast: true).isEmpty)
  }

  @Test func theRestIsSaidAtTheEnd() {
    let causes = LogCauses()
    _ = causes.note(.warning, cause, id: "one", now: 0)
    _ = causes.note(.warning, cause, id: "two", now: 0)
    #expect(causes.due(now: 1, isLast: true).map(\.count) == [1])
  }
}
