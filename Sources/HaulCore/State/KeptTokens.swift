import Foundation
import JobModel
import Locks
import TransferEngine

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
          try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
          var tokens = read(path)
          tokens[key] = token.reveal()
          try write(tokens, to: path)
        }
      })
  }

  private static func read(_ path: String) -> [String: String] {
    guard let data = FileManager.default.contents(atPath: path) else { return [:] }
    return (try? JSONSerialization.jsonObject(with: data)) as? [String: String] ?? [:]
  }

  private static func write(_ tokens: [String: String], to path: String) throws {
    let draft = path + ".new"
    unlink(draft)
    let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw fault("make", draft) }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    try file.write(contentsOf: Data(JSON.dictionary(tokens).text.utf8))
    try file.synchronize()
    guard rename(draft, path) == 0 else { throw fault("replace", path) }
  }

  private static func fault(_ what: String, _ path: String) -> Failure {
    Failure(.ioError, "\(what) `\(path)`: \(String(cString: strerror(errno)))")
  }
}
