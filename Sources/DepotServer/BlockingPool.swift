import NIOPosix

/// Threads for what blocks: reading, writing and hashing never happen on an event loop.
final class BlockingPool: Sendable {
  private let threads: NIOThreadPool

  init(threads count: Int) {
    threads = NIOThreadPool(numberOfThreads: count)
    threads.start()
  }

  func run<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await threads.runIfActive(work)
  }

  func stop() async {
    try? await threads.shutdownGracefully()
  }
}
