import Dispatch
import Foundation

/// SIGINT and SIGTERM: the first asks for an orderly end, the second ends at once.
final class Signals {
  private let sources: [any DispatchSourceSignal]

  init(_ first: @escaping @Sendable () -> Void) {
    let queue = DispatchQueue(label: "haul-signals")
    let seen = Counter()
    sources = [SIGINT, SIGTERM].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler {
        // What is recorded is recorded: leaving now loses nothing of it.
        if seen.next() > 1 { _exit(75) }
        first()
      }
      source.resume()
      return source
    }
  }

  /// Used on the signals' own queue alone.
  private final class Counter: @unchecked Sendable {
    private var count = 0
    func next() -> Int {
      count += 1
      return count
    }
  }
}
