import CPosix
import Dispatch
import Glibc
import HaulCore
import JobModel
import Posix
import Reporting

/// SIGINT, SIGTERM and SIGHUP: the first asks for an orderly end; one that comes a second later, or after, ends at once.
final class Signals {
  /// Seconds in which further signals are taken for the first: timeout(1) signals a program and then its group.
  static let grace = 1.0
  private let sources: [any DispatchSourceSignal]

  /// - Parameter first: called once, with the signal's number.
  init(_ first: @escaping @Sendable (Int32) -> Void) {
    let queue = DispatchQueue(label: "haul-signals")
    let begun = OnceValue<Double>()
    let take: @Sendable (Int32) -> Void = { number in
      let now = SystemClock.uptime
      guard let start = begun.value else {
        begun.set(now)
        Descriptor.giveUpUnread()
        return first(number)
      }
      // What is recorded is recorded: leaving now loses nothing of it.
      if now - start >= Self.grace { CurrentProcess.exit(.incomplete) }
    }
    // The source's own handler takes the place of what stood there: nothing that arrives between is lost.
    sources = Self.numbers.map { number in
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler { take(number) }
      source.setRegistrationHandler { if haul_noted_signal() == number { take(number) } }
      source.resume()
      return source
    }
  }

  /// Until a command listens itself, which then hears of what came before.
  static func noteEarly() {
    for number in numbers { haul_note_signal(number, ExitStatus.incomplete.rawValue) }
  }

  /// Until a command listens itself there is nothing to end in order: work is left, and nothing was begun.
  static func endAtOnce() {
    for number in numbers { signal(number) { _ in _exit(ExitStatus.incomplete.rawValue) } }
  }

  /// nohup(1) starts programs with SIGHUP ignored: they are to outlive their terminal.
  private static var numbers: [Int32] { [SIGINT, SIGTERM] + (isIgnored(SIGHUP) ? [] : [SIGHUP]) }

  static func name(_ number: Int32) -> String {
    switch number {
    case SIGINT: "SIGINT"
    case SIGTERM: "SIGTERM"
    case SIGHUP: "SIGHUP"
    default: "signal \(number)"
    }
  }

  private static func isIgnored(_ number: Int32) -> Bool {
    var action = sigaction()
    guard sigaction(number, nil, &action) == 0 else { return false }
    return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
      == unsafeBitCast(SIG_IGN, to: Int.self)
  }
}
