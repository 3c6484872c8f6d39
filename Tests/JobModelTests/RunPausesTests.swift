import JobModel
import Testing

@Suite struct RunPausesTests {
  @Test func `pauses of one cause that touch are one`() {
    var pauses = RunPauses()
    pauses.begin(.window, of: "office", at: 10)
    pauses.begin(.window, of: "office", at: 12)
    pauses.begin(.window, of: "home", at: 13)
    pauses.end(.window, of: "office", at: 20)
    pauses.begin(.window, of: "office", at: 20.5)
    pauses.end(.window, of: "office", at: 30)
    pauses.begin(.window, of: "office", at: 40)
    #expect(
      pauses.all == [
        RunPause(.window, of: "office", from: 10, to: 30), RunPause(.window, of: "home", from: 13),
        RunPause(.window, of: "office", from: 40),
      ])
    pauses.end(at: 50)
    #expect(pauses.all.map(\.endedAt) == [30, 50, 50])
  }

  @Test func `a pause with a known end is made longer, never shorter`() {
    var pauses = RunPauses()
    pauses.add(RunPause(.cooldown, of: "h", from: 0, to: 10))
    pauses.add(RunPause(.cooldown, of: "h", from: 5, to: 8))
    pauses.add(RunPause(.cooldown, of: "h", from: 9, to: 20))
    #expect(pauses.all == [RunPause(.cooldown, of: "h", from: 0, to: 20)])
    pauses.end(at: 15)
    #expect(
      pauses.all == [RunPause(.cooldown, of: "h", from: 0, to: 15)], "a run ends before what it waited for")
    // A clock that went back makes no negative time.
    pauses.begin(.breaker, of: "h", at: 30)
    pauses.end(.breaker, of: "h", at: 25)
    #expect(pauses.all.last == RunPause(.breaker, of: "h", from: 30, to: 30))
  }

  @Test func `thousands take bounded room and lose no cause that lasted`() {
    var pauses = RunPauses()
    for step in 0..<5000 {
      pauses.begin(.breaker, of: "h\(step % 3)", at: Double(step) * 10)
      pauses.end(.breaker, of: "h\(step % 3)", at: Double(step) * 10 + 2)
    }
    #expect(pauses.all.count <= RunPauses.limit)
    #expect(pauses.all.first?.startedAt == 0 && pauses.all.map { $0.endedAt ?? 0 }.max() == 49_992)
    var many = RunPauses()
    many.begin(.window, of: "office", at: 0)
    for host in 0..<1000 {
      many.add(RunPause(.cooldown, of: "h\(host)", from: Double(host), to: Double(host) + 0.5))
    }
    #expect(many.all.count <= RunPauses.limit && many.all.contains { $0.reason == .window })
  }
}
