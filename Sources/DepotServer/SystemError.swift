import Glibc

/// A system call that failed: what it did, to what, and its errno.
struct SystemError: Error, CustomStringConvertible {
  let code: Int32
  let action: String

  /// Reads errno: make it right after the call.
  init(_ action: String) {
    code = errno
    self.action = action
  }

  var description: String { "cannot \(action): \(String(cString: strerror(code)))" }
}
