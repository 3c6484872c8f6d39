import Glibc
import Posix
import Synchronization

/// A thread that moves libcurl's transfers and runs the actors that name it their executor, so that neither
/// waits for the other's thread. Tasks that work with such actors best prefer it too
/// (`Task(executorPreference:)`). It lives until `shutdown`.
package final class NetworkThread: SerialExecutor, TaskExecutor, Sendable {
  private let queue = JobQueue()
  private let thread = Atomic<UInt>(0)
  /// Nanoseconds of the monotonic clock since when it sleeps; 0 while it works.
  private let asleepSince = Atomic<UInt64>(0)

  // Touched on the thread only.
  nonisolated(unsafe) let multi: Multi
  nonisolated(unsafe) var timers = Timers()
  nonisolated(unsafe) private var local: [JobQueue.Entry] = []
  nonisolated(unsafe) private(set) var isClosing = false

  /// - Throws: where libcurl cannot be started.
  package init(limits: ConnectionLimits = ConnectionLimits()) throws(CurlError) {
    multi = try Multi(limits)
  }

  /// Ends open requests and sleeps as canceled, then the thread, once what is queued has run.
  package func shutdown() {
    submit(
      .work {
        self.isClosing = true
        self.multi.close()
        for work in self.timers.removeAll() { work(false) }
      })
  }

  // MARK: SerialExecutor and TaskExecutor

  package func enqueue(_ job: consuming ExecutorJob) {
    submit(.job(UnownedJob(job)))
  }

  package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
    UnownedSerialExecutor(ordinary: self)
  }

  package func checkIsolated() {
    precondition(isCurrent, "expected to run on the network thread")
  }

  package func isIsolatingCurrentContext() -> Bool? { isCurrent }

  /// Whether the caller runs on this thread. Not inlined: an async function must not keep the answer across a suspension.
  @inline(never) package var isCurrent: Bool { thread.load(ordering: .acquiring) == UInt(pthread_self()) }

  /// Whether it works, or has slept for less than so many seconds: what it waits for comes from others.
  package func wasBusy(_ seconds: Double) -> Bool {
    let since = asleepSince.load(ordering: .relaxed)
    return since == 0 || SystemClock.uptime - Double(since) / 1e9 < seconds
  }

  /// Runs the work on the thread: at once where the caller is there, else in its next turn.
  func onThread(_ work: @escaping @Sendable () -> Void) {
    if isCurrent { work() } else { submit(.work(work)) }
  }

  /// Runs the work in the thread's next turn, outside of any callback of libcurl's.
  func submit(_ entry: JobQueue.Entry) {
    if isCurrent {
      local.append(entry)
      return
    }
    switch queue.add(entry) {
    case .nothing: break
    case .wake: multi.wake()
    case .start: start()
    }
  }

  private func start() {
    var id = pthread_t()
    let context = Unmanaged.passRetained(self).toOpaque()
    var code = pthread_create(&id, nil, { NetworkThread.main($0) }, context)
    // The process's limit; others may end meanwhile.
    while code == EAGAIN {
      usleep(10_000)
      code = pthread_create(&id, nil, { NetworkThread.main($0) }, context)
    }
    precondition(code == 0, "no thread could be started (error \(code))")
    pthread_detach(id)
  }

  private static func main(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    // OpenSSL writes to sockets that may be closed; the error is enough.
    var broken = sigset_t()
    sigemptyset(&broken)
    sigaddset(&broken, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &broken, nil)
    Unmanaged<NetworkThread>.fromOpaque(context).takeRetainedValue().run()
    return nil
  }

  private func run() {
    thread.store(UInt(pthread_self()), ordering: .releasing)
    while true {
      runEntries()
      multi.turn()
      let now = SystemClock.uptime
      while let work = timers.takeDue(now) { work(true) }
      guard local.isEmpty else { continue }
      if isClosing {
        thread.store(0, ordering: .releasing)
        if queue.end() { return }
        thread.store(UInt(pthread_self()), ordering: .releasing)
        continue
      }
      let deadline = min(timers.next ?? .infinity, multi.deadline ?? .infinity)
      let asleep = SystemClock.uptime
      asleepSince.store(UInt64(asleep * 1e9), ordering: .relaxed)
      multi.poll(seconds: deadline - asleep)
      asleepSince.store(0, ordering: .relaxed)
    }
  }

  /// Runs what is queued, and what that queues, for a while.
  private func runEntries() {
    var batch: [JobQueue.Entry] = []
    for _ in 0..<16 {
      queue.take(into: &batch)
      batch += local
      local.removeAll(keepingCapacity: true)
      if batch.isEmpty { return }
      for entry in batch {
        switch entry {
        case .job(let job):
          job.runSynchronously(
            isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
        case .work(let work): work()
        }
      }
      batch.removeAll(keepingCapacity: true)
    }
  }
}
