import Glibc
package import JobModel

/// What an errno means in the one table of error codes.
package enum FileFault {
  package static func failure(_ number: Int32, _ what: String) -> Failure {
    let reason = String(cString: strerror(number))
    let code: ErrorCode
    switch number {
    case ENOSPC, EDQUOT: code = .diskFull
    case EACCES, EPERM, EROFS: code = .permissionDenied
    default: code = .ioError
    }
    return Failure(code, "\(what): \(reason)")
  }
}
