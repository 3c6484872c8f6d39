import Glibc

/// Why a system call failed (errno(3)), in the words of strerror(3).
package struct SystemError: Error, Sendable, Hashable, CustomStringConvertible {
  package let number: Int32

  /// - Parameter number: by default that of this thread's last call.
  package init(_ number: Int32 = errno) { self.number = number }

  package var description: String { String(cString: strerror(number)) }
}
