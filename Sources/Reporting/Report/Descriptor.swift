import Glibc
import Posix
import Synchronization

/// Writing to file descriptors.
package enum Descriptor {
  /// The uptime from which on nobody is waited for who does not read, as its bits; 0 until a run is to end.
  private static let end = Atomic<UInt64>(0)
  /// The uptime when a reader last took some, of any.
  private static let read = Atomic<UInt64>(0)
  /// Seconds for which a reader that has read some is waited for then.
  private static let patience = 2.0
  /// Seconds behind that for which any reader is waited for.
  private static let mostPatience = 20.0

  /// Bytes that a pipe and a terminal take without waiting, once they take any.
  private static let (pipeStep, terminalStep) = (4096, 256)

  /// From now on gives up pipes and terminals that nobody reads for 2 s: a run that is to end does not hang on them.
  package static func giveUpUnread() {
    end.store((SystemClock.uptime + patience).bitPattern, ordering: .relaxed)
  }

  /// Writes all bytes, however often it takes.
  ///
  /// - Throws: `OutputFileError`, naming `path`.
  package static func write(_ bytes: [UInt8], to descriptor: Int32, path: String) throws(OutputFileError) {
    let step = step(descriptor)
    var rest = bytes[...]
    while !rest.isEmpty {
      if step != nil { try wait(for: descriptor, path) }
      let written = rest.prefix(step ?? .max).withUnsafeBytes {
        Glibc.write(descriptor, $0.baseAddress, $0.count)
      }
      if written >= 0 {
        rest = rest.dropFirst(written)
        if step != nil { read.store(SystemClock.uptime.bitPattern, ordering: .relaxed) }
        continue
      }
      switch errno {
      case EINTR: continue
      // Standard output may have been made non-blocking by whoever shares it.
      case EAGAIN: try wait(for: descriptor, path)
      default: throw OutputFileError(path, errno: errno)
      }
    }
  }

  /// Opens for writing; of a pipe that nobody has open, its reader is waited for.
  static func open(_ path: String, _ flags: Int32) throws(OutputFileError) -> Int32 {
    var facts = stat()
    let isPipe = stat(path, &facts) == 0 && facts.st_mode & S_IFMT == S_IFIFO
    while true {
      let descriptor = Glibc.open(path, flags | O_CLOEXEC | (isPipe ? O_NONBLOCK : 0), 0o644)
      if descriptor >= 0 {
        if isPipe { _ = fcntl(descriptor, F_SETFL, flags & O_APPEND) }
        return descriptor
      }
      switch errno {
      case EINTR: continue
      case ENXIO where isPipe:
        guard !isOver else { throw OutputFileError(path, errno: ETIMEDOUT) }
        usleep(50_000)
      default: throw OutputFileError(path, errno: errno)
      }
    }
  }

  private static var isOver: Bool {
    let (end, read) = (end.load(ordering: .relaxed), Double(bitPattern: read.load(ordering: .relaxed)))
    guard end != 0 else { return false }
    let first = Double(bitPattern: end)
    return SystemClock.uptime >= min(max(first, read + patience), first + mostPatience)
  }

  /// Waits until some bytes can be written.
  private static func wait(for descriptor: Int32, _ path: String) throws(OutputFileError) {
    var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    while poll(&ready, 1, 100) <= 0 {
      guard !isOver else { throw OutputFileError(path, errno: ETIMEDOUT) }
    }
  }

  /// How many bytes are written at a time; nil for what nobody has to read.
  private static func step(_ descriptor: Int32) -> Int? {
    var facts = stat()
    guard fstat(descriptor, &facts) == 0 else { return nil }
    switch facts.st_mode & S_IFMT {
    case S_IFIFO, S_IFSOCK: return pipeStep
    case S_IFCHR: return isatty(descriptor) == 1 ? terminalStep : nil
    default: return nil
    }
  }
}
