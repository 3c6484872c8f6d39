import JobLedger
import JobManifest
import JobModel
import Locks
import Scheduler
import Testing
import TestSupport

@testable import HaulCore

struct StopControllerTests {
  @Test func earlyAndLateListenersHearTheFirstCause() {
    let (stopper, heard) = (StopController(), Locked<[StopCause]>([]))
    stopper.attach { cause in heard.withLock { $0.append(cause) } }
    stopper.stop(.deadline)
    stopper.attach { cause in heard.withLock { $0.append(cause) } }
    #expect(heard.withLock { $0 } == [.deadline, .deadline])
    stopper.interrupt()
    #expect(stopper.cause == .deadline)
  }

  @Test func aBodyThatEndsGivesItsResult() async throws {
    #expect(try await StopController().race { 7 } == 7)
  }

  @Test func aBodyThatHangsIsLeftBehind() async throws {
    let stopper = StopController()
    stopper.interrupt()
    let stopped = await #expect(throws: StopController.Stopped.self) {
      try await stopper.race { try await Task.sleep(for: .seconds(3600)) }
    }
    #expect(stopped?.cause == .interrupted)
  }

  @Test func aValueIsSetOnce() {
    let value = OnceValue<Int>()
    #expect(value.value == nil)
    value.set(1)
    value.set(2)
    #expect(value.value == 1)
  }
}
