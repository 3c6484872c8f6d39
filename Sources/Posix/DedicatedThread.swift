import CPosix
import Glibc

/// Threads apart from the few that run tasks: work that waits for tasks on one of those could wait for ever.
package enum DedicatedThread {
  package static func run<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      start { continuation.resume(with: Result { try body() }) }
    }
  }

  /// - Parameter name: for debuggers, at most 15 bytes.
  package static func start(name: String? = nil, _ body: @escaping @Sendable () -> Void) {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    // As much as the main thread has: manifests nest.
    pthread_attr_setstacksize(&attributes, 8 << 20)
    let work = Unmanaged.passRetained(Work(name, body)).toOpaque()
    var thread = pthread_t()
    var code = create(&thread, &attributes, work)
    // The process's limit; others may end meanwhile.
    while code == EAGAIN {
      usleep(10_000)
      code = create(&thread, &attributes, work)
    }
    precondition(code == 0, "no thread could be started (error \(code))")
  }

  private static func create(
    _ thread: inout pthread_t, _ attributes: inout pthread_attr_t, _ work: UnsafeMutableRawPointer
  ) -> Int32 {
    pthread_create(&thread, &attributes, { Work.run($0) }, work)
  }

  private final class Work {
    private let name: String?
    private let body: @Sendable () -> Void

    init(_ name: String?, _ body: @escaping @Sendable () -> Void) { (self.name, self.body) = (name, body) }

    static func run(_ work: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
      guard let work else { return nil }
      let one = Unmanaged<Work>.fromOpaque(work).takeRetainedValue()
      if let name = one.name { haul_name_thread(name) }
      one.body()
      return nil
    }
  }
}
