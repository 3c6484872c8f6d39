import Foundation

/// Runs work that waits for tasks on a thread of its own: on one of the tasks' threads it could wait for ever.
enum DedicatedThread {
  static func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      start { continuation.resume(with: Result { try body() }) }
    }
  }

  static func start(_ body: @escaping @Sendable () -> Void) {
    let thread = Thread(block: body)
    // As much as the main thread has: manifests nest.
    thread.stackSize = 8 << 20
    thread.start()
  }
}
