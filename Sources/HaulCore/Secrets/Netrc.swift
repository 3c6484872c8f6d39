import Endpoints
import Glibc
import HTTPClient
import JobModel
import Posix

/// The user's `.netrc`: `$NETRC`, else `~/.netrc`.
enum Netrc {
  static func login(for host: String, _ environment: ProcessEnvironment) throws -> NetrcLogin {
    let path = environment["NETRC"] ?? environment.home + "/.netrc"
    var status = stat()
    guard stat(path, &status) == 0 else {
      throw Failure(.secretUnavailable, "`\(path)`: \(SystemError())")
    }
    guard status.st_mode & 0o077 == 0 else {
      throw Failure(.secretUnavailable, "`\(path)` can be read by others: `chmod 600` it")
    }
    let bytes: [UInt8]
    do throws(SystemError) { bytes = try Files.read(path) } catch {
      throw Failure(.secretUnavailable, "`\(path)` can't be read: \(error)")
    }
    guard let entry = NetrcFile(String(decoding: bytes, as: UTF8.self)).entry(for: host) else {
      throw Failure(.secretUnavailable, "`\(path)` has no entry `machine \(host)`")
    }
    guard let user = entry.login, let password = entry.password, !user.contains(":") else {
      throw Failure(
        .secretUnavailable,
        "the entry for `\(host)` in `\(path)` lacks a `login` without `:`, or a `password`")
    }
    return NetrcLogin(user: user, password: Secret(password))
  }
}
