import JobLedger
import JobModel
import Testing

/// A control on record: waiting, being applied, applied or withdrawn.
struct ControlStateTests {
  enum Step: Sendable { case begin, settle, withdraw, withdrawBegun, expire }

  @Test(
    arguments: [
      ([], .waiting), ([.begin], .begun), ([.begin, .begin], .begun), ([.begin, .settle], .applied(3)),
      ([.withdraw], .withdrawn), ([.withdraw, .begin], .withdrawn), ([.expire], .withdrawn),
      // What is being applied is withdrawn by nobody but who applies it.
      ([.begin, .withdraw], .begun), ([.begin, .expire], .begun), ([.begin, .withdrawBegun], .withdrawn),
      ([.begin, .settle, .withdrawBegun], .applied(3)),
    ] as [([Step], ControlState)])
  func states(_ steps: [Step], _ expected: ControlState) throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    let number = try ledger.request(Control(.cancel, ids: ["a", "b*"]), at: 10)
    let later = try ledger.request(Control(.retry, ids: [], fromScratch: true), at: 20)
    for step in steps {
      switch step {
      case .begin: _ = try ledger.beginControl(number)
      case .settle: try ledger.settleControl(number, changed: 3, at: 30)
      case .withdraw: try ledger.withdrawControl(number, at: 30)
      case .withdrawBegun: try ledger.withdrawControl(number, isBegun: true, at: 30)
      case .expire: try ledger.withdrawControls(requestedBefore: 15, at: 30)
      }
    }
    #expect(try ledger.controlState(number) == expected && ledger.controlState(later) == .waiting)
    let isPending = [.waiting, .begun].contains(expected)
    #expect(try ledger.beginControl(number) == isPending)
    let pending = try ledger.pendingControls()
    #expect(pending.map { $0.number } == (isPending ? [number, later] : [later]))
    let before = try ledger.pendingControls(through: number)
    #expect(before.map { $0.control.ids } == (isPending ? [["a", "b*"]] : []))
    #expect(try !ledger.hasOpenAttempt())
    #expect(try ledger.lastControl() == later && ledger.controlState(later + 1) == .withdrawn)
  }
}
