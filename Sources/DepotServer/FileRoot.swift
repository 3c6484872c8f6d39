import CDepotShims
import Glibc
import Synchronization

/// The served folder, held open, and `.depot` with our own state in it.
final class FileRoot: Sendable {
  let descriptor: Int32
  /// Held as long as this depot uses the root: two would not see each other's chunks. -1 once released.
  private let lock: Atomic<Int32>
  /// Absolute, links resolved.
  let path: String

  /// Creates `.depot` and its folders where they are missing.
  init(_ path: String) throws {
    guard let resolved = realpath(path, nil) else {
      throw DepotError.noInput("--root \(path): \(String(cString: strerror(errno)))")
    }
    defer { free(resolved) }
    let absolute = String(cString: resolved)
    let descriptor = Glibc.open(absolute, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw DepotError.noInput("--root \(path): \(String(cString: strerror(errno)))")
    }
    self.path = absolute
    self.descriptor = descriptor
    for folder in ["", "/sessions", "/objects"] {
      let folder = absolute + "/.depot" + folder
      guard mkdir(folder, 0o700) == 0 || errno == EEXIST else {
        throw DepotError.noInput("cannot create \(folder): \(String(cString: strerror(errno)))")
      }
    }
    let lock = Glibc.open(absolute + "/.depot/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard lock >= 0, Self.take(lock) else {
      let reason = errno == EWOULDBLOCK ? "another depot serves it" : String(cString: strerror(errno))
      if lock >= 0 { close(lock) }
      close(descriptor)
      throw DepotError.unavailable("--root \(path): \(reason)")
    }
    self.lock = Atomic(lock)
  }

  /// A depot that is just ending has a moment to let go.
  private static func take(_ lock: Int32) -> Bool {
    for _ in 0..<100 {
      if flock(lock, LOCK_EX | LOCK_NB) == 0 { return true }
      guard errno == EWOULDBLOCK || errno == EINTR else { return false }
      usleep(20_000)
    }
    errno = EWOULDBLOCK
    return false
  }

  deinit {
    unlock()
    close(descriptor)
  }

  /// Lets another depot have the root.
  func unlock() {
    let lock = lock.exchange(-1, ordering: .relaxed)
    if lock >= 0 { close(lock) }
  }

  var stateFolder: String { path + "/.depot" }

  /// The file at `path`, or nil where there is none to serve: missing, a folder, a pipe, out of the root.
  func open(_ path: RootPath) -> OpenFile? {
    let descriptor = depot_open_beneath(self.descriptor, path.cString)
    guard descriptor >= 0, let file = OpenFile(descriptor: descriptor) else { return nil }
    return leadsIntoState(file) ? nil : file
  }

  /// A link inside the root may still point into `.depot`.
  private func leadsIntoState(_ file: OpenFile) -> Bool {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
    let count = readlink("/proc/self/fd/\(file.descriptor)", &buffer, Int(PATH_MAX))
    guard count > 0 else { return false }
    let real = String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return real.hasPrefix(stateFolder + "/")
  }
}
