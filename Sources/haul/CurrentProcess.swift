import Glibc
import HaulCore
import JobModel
import Posix

/// This process: the one place that reads its environment, names its descriptors, and ends it.
enum CurrentProcess {
  static let environment = ProcessEnvironment(
    Machine.environment, userHome: Machine.accountHome)

  static let console = Console(
    output: STDOUT_FILENO, errors: STDERR_FILENO, style: Console.Style(Machine.arguments),
    environment: environment)

  static let context = CommandContext(environment: environment, console: console)

  /// Ends the process at once: threads that are left behind must not meet handlers that take their ground away.
  static func exit(_ status: ExitStatus) -> Never {
    fflush(nil)
    _exit(status.rawValue)
  }

  /// Says why, and ends.
  static func exit(_ end: End) -> Never {
    console.print(end)
    exit(end.status)
  }
}
