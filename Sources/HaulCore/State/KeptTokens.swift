import Glibc
import HTTPClient
import JobModel
import Locks
import Posix
import Reporting

/// The file of exchanged refresh tokens in a job's state: mode 0600, replaced whole.
enum KeptTokens {
  static let fileName = "tokens.json"

  static func keeping(in folder: String) -> TokenKeeping {
    let path = folder + "/" + fileName
    // Two endpoints may renew at once; each write takes over what the other wrote.
    let writing = Locked(())
    return TokenKeeping(
      read: { key in read(path)[key].map { Secret($0) } },
      write: { key, token in
        try writing.withLock { _ in
          // A plan may come before the first run.
          try Files.makeFolders(folder)
          var tokens = read(path)
          tokens[key] = token.reveal()
          try write(tokens, to: path)
        }
      })
  }

  private static func read(_ path: String) -> [String: String] {
    (try? Files.read(path)).flatMap { JSON($0) }?.dictionary ?? [:]
  }

  private static func write(_ tokens: [String: String], to path: String) throws {
    let draft = path + ".new"
    unlink(draft)
    let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw fault("make", draft) }
    defer { close(descriptor) }
    try Descriptor.write(Array(JSON.dictionary(tokens).text.utf8), to: descriptor, path: draft)
    guard fsync(descriptor) == 0 else { throw fault("sync", draft) }
    guard rename(draft, path) == 0 else { throw fault("replace", path) }
  }

  private static func fault(_ what: String, _ path: String) -> Failure {
    Failure(.ioError, "\(what) `\(path)`: \(SystemError())")
  }
}
