import JobModel
import Synchronization
import Testing

@testable import Scheduler

struct SpendingTests {
  private let day = BudgetPeriod(.day, at: 1_700_000_000, zone: .utc)
  private let next = BudgetPeriod(.day, at: 1_700_000_000 + 86_400, zone: .utc)

  @Test func tellsOnceAPeriodWhenTheLastByteIsSpent() {
    let told = Atomic<Int>(0)
    let spending = Spending(Budget(bytes: 100, period: .day), period: day, spent: 40) {
      told.add(1, ordering: .relaxed)
    }
    spending.count(59)
    #expect(spending.spentUntil == nil && told.load(ordering: .relaxed) == 0)
    spending.count(1)
    spending.count(5)
    #expect(spending.spentUntil == day.end && told.load(ordering: .relaxed) == 1)
    spending.begin(day, spent: 0)
    #expect(spending.spentUntil == day.end, "the same period goes on")
    spending.begin(next, spent: 0)
    #expect(spending.spentUntil == nil && spending.end == next.end)
    spending.count(100)
    #expect(told.load(ordering: .relaxed) == 2)
    spending.begin(day, spent: 104)
    #expect(spending.spentUntil == day.end && spending.period == day.name, "the clock was set back")
    spending.count(1)
    #expect(told.load(ordering: .relaxed) == 2)
  }

  /// What is put aside counts as spent for everybody else, until it has moved or is given back.
  @Test func whatIsPutAside() {
    let told = Atomic<Int>(0)
    let spending = Spending(Budget(bytes: 100, period: .day), period: day, spent: 20) {
      told.add(1, ordering: .relaxed)
    }
    #expect(!spending.isPromised && spending.reserve(50) && spending.isPromised)
    #expect(!spending.isShort && spending.spentUntil == nil)
    #expect(!spending.reserve(31) && spending.isShort && spending.spentUntil == nil, "30 are left")
    #expect(spending.reserve(30) && spending.spentUntil == day.end && told.load(ordering: .relaxed) == 1)
    spending.release(30, areMoved: true)
    spending.count(30)
    #expect(spending.spentUntil == day.end && spending.isShort && told.load(ordering: .relaxed) == 1)
    #expect(spending.takeUnsaved()?.bytes == 30, "what has moved is on record, and no more")
    spending.begin(next, spent: 0)
    #expect(
      !spending.isShort && !spending.reserve(51), "a body that is under way goes on into the next period")
    spending.release(50, areMoved: false)
    #expect(!spending.isShort && spending.reserve(100))
  }

  @Test func whatIsUnsavedIsTakenOnce() {
    let spending = Spending(Budget(bytes: 100, period: .day), period: day, spent: 0) {}
    #expect(spending.takeUnsaved() == nil)
    spending.count(7)
    let taken = spending.takeUnsaved()
    #expect(taken?.bytes == 7 && taken?.period == day.name && spending.takeUnsaved() == nil)
  }
}
