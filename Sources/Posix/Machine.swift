import CPosix
import Glibc

/// What haul asks of the machine and the account that it runs on.
package enum Machine {
  package static var hostName: String {
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count - 1) == 0, name[0] != 0 else { return "localhost" }
    return name.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
  }

  /// Processors that this process may run on.
  package static var cores: Int { Int(haul_cores()) }

  /// Files that this process may have open.
  package static var openFiles: Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 256 }
    return Int(clamping: limit.rlim_cur)
  }

  /// The user's home folder by the account, whatever `HOME` says.
  package static var accountHome: String {
    getpwuid(getuid()).map { String(cString: $0.pointee.pw_dir) } ?? "/"
  }

  /// The words that this process was started with, its name first. `CommandLine` has none where a preloaded library has
  /// called setenv(3).
  package static var arguments: [String] {
    (0..<haul_argument_count()).map { String(cString: haul_argument($0)) }
  }

  /// The first of those words that is not UTF-8, repaired; nil where all are. No file is found by a repaired name, and another one may be.
  package static var otherEncoding: String? {
    (0..<haul_argument_count()).lazy.compactMap { haul_argument($0) }
      .first { String(validatingCString: $0) == nil }.map { String(cString: $0) }
  }

  /// The variables of this process.
  package static var environment: [String: String] {
    var variables: [String: String] = [:]
    var place = Glibc.environ
    while let entry = place.pointee {
      let text = String(cString: entry)
      if let mark = text.utf8.firstIndex(of: UInt8(ascii: "=")) {
        variables[String(text[..<mark])] = String(text[text.utf8.index(after: mark)...])
      }
      place += 1
    }
    return variables
  }
}
