import Endpoints
import JobModel
import SSH

/// What faults of a connection mean in the one table of error codes.
enum SSHFailure {
  /// - Parameter place: the origin that was connected to.
  static func of(_ error: any Error, at place: String) -> Failure {
    guard let fault = error as? SSHFault else { return error as? Failure ?? Failure(.internal, "\(error)") }
    func failed(_ code: ErrorCode, _ what: String, class given: FailureClass? = nil) -> Failure {
      Failure(code, "\(place): \(what)", class: given)
    }
    func unconnected(_ code: ErrorCode, _ what: String) -> Failure {
      var failure = failed(code, what)
      failure.isUnconnected = true
      return failure
    }
    switch fault {
    case .unresolved(let words):
      return unconnected(.networkUnreachable, "the host's name is not found: \(words)")
    case .unconnected(let words): return unconnected(.networkUnreachable, "no connection: \(words)")
    case .interfaceUnavailable(let words):
      return unconnected(.networkUnreachable, "\(words); nothing was sent")
    case .timedOut(.connect, let seconds):
      return unconnected(.timeout, "no SSH connection within \(number(seconds)) s")
    case .timedOut(.login, let seconds):
      return failed(.timeout, "no answer to the login within \(number(seconds)) s")
    case .timedOut(.channel, let seconds):
      return failed(.timeout, "the server did not start SFTP within \(number(seconds)) s")
    case .broken(let words): return failed(.networkUnreachable, "the connection broke: \(words)")
    case .notSSH(let words):
      return failed(
        .protocolViolation, "what answers does not speak SSH (\(words)); is the port the right one?")
    case .nothingInCommon(let words):
      return failed(
        .tlsFailed,
        "the server and libssh2 share no cipher, key exchange or kind of host key (\(words)); nothing was sent. Give the server an ed25519 or ECDSA host key"
      )
    case .agentUnusable(let words):
      return failed(
        .secretUnavailable, "`agent: true` asks the ssh-agent at `SSH_AUTH_SOCK` for a key, and \(words)")
    case .loginRefused(let tried, let offered, let byRSA):
      return failed(.unauthorized, refused(tried, offered, byRSA), class: .denied)
    case .keyUnusable(let words):
      return failed(
        .unauthorized,
        "`key_file` can't be used (\(words)); is its `passphrase` the right one, and the key ed25519, ECDSA or RSA?",
        class: .denied)
    case .noSubsystem(let words):
      return failed(
        .protocolViolation, "the server lets the user in, and offers no SFTP (\(words))", class: .permanent)
    case .stopped: return failed(.networkUnreachable, "the connection was closed")
    }
  }

  private static func refused(_ tried: [String], _ offered: [String], _ byRSA: Bool) -> String {
    let ways = tried.map { "`\($0)`" }.joined(separator: ", ")
    let hint =
      byRSA && offered.contains("publickey")
      ? ". The key is an RSA key, which libssh2 before 1.11 signs by SHA-1 (`ssh-rsa`) and OpenSSH from 8.8 on refuses: use an ed25519 key (`ssh-keygen -t ed25519`)"
      : ""
    return "the server refused the login by \(ways); it takes \(offered.joined(separator: ", "))\(hint)"
  }

  private static func number(_ seconds: Double) -> String { "\(Int(clamping: seconds.rounded(.up)))" }
}
