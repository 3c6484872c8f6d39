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
          try write(token.reveal(), for: key, to: path)
        }
      })
  }

  private static func read(_ path: String) -> [String: String] {
    (try? Files.read(path)).flatMap { JSON($0) }?.dictionary ?? [:]
  }

  /// Returns when it is on the disk: the token before it is used up.
  private static func write(_ token: String, for key: String, to path: String) throws {
    let draft = path + ".new"
    let descriptor = try locked(draft)
    defer { close(descriptor) }
    var tokens = read(path)
    tokens[key] = token
    guard ftruncate(descriptor, 0) == 0 else { throw fault("empty", draft) }
    try Descriptor.write(Array(JSON.dictionary(tokens).text.utf8), to: descriptor, path: draft)
    guard fsync(descriptor) == 0 else { throw fault("sync", draft) }
    guard rename(draft, path) == 0 else { throw fault("replace", path) }
    // Where the name is not on the disk, the file is all the same.
    try? Files.sync(PathParts(path).parent)
  }

  /// Opens the draft and locks it: a `plan` beside a run would write into it, or over what the run has just written.
  private static func locked(_ draft: String) throws -> Int32 {
    while true {
      let descriptor = open(draft, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else { throw fault("make", draft) }
      // Where the system can't lock, it is written all the same.
      while flock(descriptor, LOCK_EX) != 0, errno == EINTR {}
      var (mine, present) = (stat(), stat())
      // Who had the lock has given the draft the file's name.
      if fstat(descriptor, &mine) == 0, stat(draft, &present) == 0, mine.st_ino == present.st_ino {
        return descriptor
      }
      close(descriptor)
    }
  }

  private static func fault(_ what: String, _ path: String) -> Failure {
    Failure(
      .ioError,
      "can't \(what) `\(path)`: \(SystemError()); the server has exchanged the refresh token, and the new one is not kept: put another one at its reference"
    )
  }
}
