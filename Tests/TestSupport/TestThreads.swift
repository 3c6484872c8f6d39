import Foundation

/// Threads of their own for tests that wait for tools: Swift's pool has one thread a core, and a test that waits on it
/// keeps the others from seeing in time what they wait for.
package final class TestThreads: TaskExecutor {
  package static let shared = TestThreads(16)
  private let jobs = NSCondition()
  nonisolated(unsafe) private var waiting: [UnownedJob] = []

  private init(_ count: Int) {
    for _ in 0..<count { Thread.detachNewThread { self.work() } }
  }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock {
      waiting.append(job)
      jobs.signal()
    }
  }

  private func work() {
    while true {
      let job = jobs.withLock {
        while waiting.isEmpty { jobs.wait() }
        return waiting.removeFirst()
      }
      job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }
}
