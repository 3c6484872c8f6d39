import Glibc
import NIOCore

/// How many connections depot has open at once. Others wait until one is closed: a process without a free descriptor can
/// neither accept nor answer, and its libraries may end it.
enum ConnectionLimit {
  /// Raises the limit of open files as far as this process may, and gives the connections that fit it.
  static func raise() -> Int {
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0 else { return 64 }
    var raised = limit
    raised.rlim_cur = limit.rlim_max
    if setrlimit(resource, &raised) == 0 { limit = raised }
    return connections(openFiles: Int(clamping: limit.rlim_cur), cores: System.coreCount)
  }

  /// A connection takes two descriptors, its own and its file's; each event loop takes three, and 64 are for all else.
  static func connections(openFiles: Int, cores: Int) -> Int { max(16, (openFiles - 64 - 3 * cores) / 2) }
}
