package import Testing

/// Lets a few tests run at a time: each starts servers and programs of its own, and all at once would only wait.
///
/// A test's time begins with its turn: Swift Testing's own limit would count the wait for it.
package struct Turns: SuiteTrait, TestTrait, TestScoping {
  package let isRecursive = true
  fileprivate let limit: Duration

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing body: @Sendable () async throws -> Void
  ) async throws {
    guard testCase != nil else { return try await body() }
    await Gate.shared.enter()
    do {
      try await withTaskExecutorPreference(TestThreads.shared) { try await inTime(body) }
      await Gate.shared.leave()
    } catch {
      await Gate.shared.leave()
      throw error
    }
  }

  private func inTime(_ body: @Sendable () async throws -> Void) async throws {
    try await withoutActuallyEscaping(body) { body in
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask(operation: body)
        group.addTask {
          try await Task.sleep(for: limit)
          Issue.record("not at its end \(limit) after its turn began")
        }
        defer { group.cancelAll() }
        try await group.next()
      }
    }
  }

  private actor Gate {
    static let shared = Gate(4)
    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(_ free: Int) { self.free = free }

    func enter() async {
      await withCheckedContinuation { continuation in
        // Others may leave before the continuation is made: what is free counts here, not before.
        if free > 0 {
          free -= 1
          continuation.resume()
        } else {
          waiting.append(continuation)
        }
      }
    }

    func leave() {
      if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
    }
  }
}

extension Trait where Self == Turns {
  /// A few tests at a time, each for half an hour at most.
  package static var turns: Turns { turns(minutes: 30) }

  /// A few tests at a time, each for `minutes` at most.
  package static func turns(minutes: Int) -> Turns { Turns(limit: .seconds(60 * minutes)) }
}
