import Endpoints
import Glibc
package import JobModel
import Posix

/// Reads files of private keys, as strictly as ssh does.
package enum KeyFile {
  /// Bytes that a key's file may have.
  private static let most = 1 << 20

  /// - Returns: its content, and whether a passphrase opens it.
  /// - Throws: `SECRET_UNAVAILABLE`, with what to do.
  package static func read(_ path: String) throws(Failure) -> (bytes: [UInt8], isEncrypted: Bool) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      let reason = errno == ENOENT ? "does not exist" : "can't be read: \(SystemError())"
      throw Failure(.secretUnavailable, "the key file `\(path)` \(reason)")
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= most else {
      throw Failure(.secretUnavailable, "the key file `\(path)` is not a file of a private key")
    }
    guard status.st_mode & 0o077 == 0 else {
      throw Failure(.secretUnavailable, "the key file `\(path)` can be read by others: `chmod 600` it")
    }
    let bytes: [UInt8]
    do throws(SystemError) { bytes = try Files.readToEnd(descriptor) } catch {
      throw Failure(.secretUnavailable, "the key file `\(path)` can't be read: \(error)")
    }
    switch SSHKeyFile.form(of: bytes) {
    case .plain: return (bytes, false)
    case .encrypted: return (bytes, true)
    case .publicKey:
      throw Failure(
        .secretUnavailable, "the key file `\(path)` holds a public key: name the private one, without `.pub`")
    case .unknown:
      throw Failure(
        .secretUnavailable, "the key file `\(path)` holds no private key in OpenSSH's form or PEM")
    }
  }
}
