import Glibc
import HTTPClient
import JobModel
import Posix

/// Resolves secret references: from the environment, files and commands.
struct Secrets: Sendable {
  private let environment: ProcessEnvironment
  /// Whether what commands write to their standard error goes to ours.
  private let showsErrors: Bool

  init(_ environment: ProcessEnvironment, showsErrors: Bool = true) {
    self.environment = environment
    self.showsErrors = showsErrors
  }

  var aws: AWSCredentialSource { AWSCredentialSource(environment, showsErrors: showsErrors) }

  var source: SecretSource {
    SecretSource(
      resolve: { reference in
        switch reference {
        case .environment(let name):
          return try variable(name)
        case .file(let path): return try Self.file(path)
        case .command(let words): return try await Self.command(words, showsErrors: showsErrors)
        }
      }, keys: { try await aws.keys($0) },
      netrc: { host in try Netrc.login(for: host, environment) })
  }

  func variable(_ name: String) throws -> Secret {
    guard let value = environment.variables[name] else {
      throw Failure(.secretUnavailable, "the environment variable `\(name)` is not set")
    }
    // As of files: whoever sets it from one often leaves its line's end there.
    let text = value.trimmed(\.isNewline)
    guard !text.isEmpty else {
      throw Failure(.secretUnavailable, "the environment variable `\(name)` is set, but empty")
    }
    return Secret(text)
  }

  static func file(_ path: String) throws -> Secret {
    var status = stat()
    guard stat(path, &status) == 0 else {
      let reason = errno == ENOENT ? "does not exist" : "can't be read: \(SystemError())"
      throw Failure(.secretUnavailable, "the secret file `\(path)` \(reason)")
    }
    guard status.st_mode & 0o077 == 0 else {
      throw Failure(.secretUnavailable, "the secret file `\(path)` can be read by others: `chmod 600` it")
    }
    // As of a command: no server takes a header of that length, and it is hardly the file that was meant.
    guard status.st_size <= ChildProcess.mostOutput else {
      throw Failure(
        .secretUnavailable,
        "the secret file `\(path)` has more than \(ChildProcess.mostOutput >> 20) MiB: is it the right one?")
    }
    let bytes: [UInt8]
    do throws(SystemError) { bytes = try Files.read(path) } catch {
      throw Failure(.secretUnavailable, "the secret file `\(path)` can't be read: \(error)")
    }
    return try secret(bytes, from: "the secret file `\(path)`")
  }

  /// Runs a command and takes its standard output, without the last line's end.
  static func command(_ words: [String], showsErrors: Bool) async throws -> Secret {
    guard let program = words.first else { throw Failure(.secretUnavailable, "a secret command is empty") }
    let origin = "the secret command `\(program)`"
    do {
      let output = try await BoundedCommand.output(words, for: 30, showsErrors: showsErrors)
      return try secret(output, from: origin)
    } catch let fault as BoundedCommand.Fault {
      throw Failure(.secretUnavailable, "\(origin) \(fault.message)")
    }
  }

  private static func secret(_ bytes: [UInt8], from origin: String) throws -> Secret {
    let text = String(decoding: bytes, as: UTF8.self).trimmed(\.isNewline)
    guard !text.isEmpty else { throw Failure(.secretUnavailable, "\(origin) is empty") }
    return Secret(text)
  }
}
