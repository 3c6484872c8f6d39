import JobModel
import Synchronization
import Testing

@testable import Reporting

@Suite struct VerifyProgressTests {
  private static func totals(_ verified: Int, different: Int = 0) -> VerifyTotals {
    var totals = VerifyTotals()
    for _ in 0..<verified { totals.add(.verified) }
    for _ in 0..<different { totals.add(.different(check: "size", expected: "1", actual: "2")) }
    return totals
  }

  @Test func `the line tells what is known`() {
    var progress = VerifyProgress(bytesBefore: 1 << 30)
    #expect(progress.line(Self.totals(1), bytes: 0, now: 0) == "1 transfer, 1.0 GiB read")
    progress.whole = (40, 5 << 30)
    #expect(
      progress.line(Self.totals(11, different: 1), bytes: 1 << 30, now: 1)
        == "12 of 40 transfers (30 %), 2.0/5.0 GiB read, 1.0 GiB/s, 0:03 left, 1 different")
    // A plan that grew meanwhile, or bytes that were read twice, make no nonsense.
    #expect(
      progress.line(Self.totals(60), bytes: 9 << 30, now: 2).hasPrefix(
        "60 of 40 transfers (100 %), 10.0 GiB read, "))
  }

  @Test func `a line is drawn in its place, and nothing is printed over`() {
    let out = Mutex("")
    let line = StatusLine(isEnabled: true, columns: { 11 }) { text in out.withLock { $0 += text } }
    line.show("0123456789")
    line.show("0123456789ab")
    line.print { out.withLock { $0 += "note\n" } }
    line.print { out.withLock { $0 += "more\n" } }
    #expect(
      out.withLock { $0 }
        == "\r0123456789\u{1b}[K\r012345678…\u{1b}[K\r\u{1b}[Knote\nmore\n")
    let silent = StatusLine(isEnabled: false, columns: { 11 }) { _ in Issue.record("nothing is to be drawn") }
    silent.show("x")
    silent.print {}
  }
}
