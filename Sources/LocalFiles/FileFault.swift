import Glibc
package import JobModel

/// What an errno means in the one table of error codes.
package enum FileFault {
  /// Throws `PassingFault` for what says nothing of the file: too many are open, or memory is short.
  static func checkPassing(_ number: Int32, _ what: String) throws {
    guard [EMFILE, ENFILE, ENOMEM, EINTR].contains(number) else { return }
    throw PassingFault(description: "can't \(what): \(String(cString: strerror(number)))")
  }

  package static func failure(_ number: Int32, _ what: String) -> Failure {
    let reason = String(cString: strerror(number))
    let code: ErrorCode
    switch number {
    case ENOSPC, EDQUOT: code = .diskFull
    case EACCES, EPERM, EROFS: code = .permissionDenied
    default: code = .ioError
    }
    // strerror(3) does not say what to do.
    let advice =
      switch number {
      case ENAMETOOLONG: " for this file system: choose a shorter `to`"
      case EROFS: ": mount it for writing, or choose another place"
      case EMFILE, ENFILE: ": raise the limit of open files (`ulimit -n`)"
      case ENOTDIR: ": a file stands where a folder is needed; move it away"
      case ELOOP: ": put what the symbolic link leads to in its place"
      case ESTALE: ": mount the file system again"
      default: ""
      }
    return Failure(code, "can't \(what): \(reason)\(advice)")
  }
}

/// Transient; the caller retries and records nothing.
package struct PassingFault: Error, CustomStringConvertible {
  package let description: String
}
