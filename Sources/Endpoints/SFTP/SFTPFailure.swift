package import JobModel

/// What an SFTP server's refusals mean in the one table of error codes.
package enum SFTPFailure {
  /// - Parameters:
  ///   - what: what was asked, as in "could not WHAT".
  ///   - place: the URL that it was asked of.
  package static func of(_ status: SFTPStatus, doing what: String, at place: String) -> Failure {
    let words = words(status)
    let message = "\(place): the server could not \(what): \(words)"
    switch status.code {
    case .noSuchFile: return Failure(.notFound, message)
    case .permissionDenied: return Failure(.forbidden, message)
    case .noConnection, .connectionLost: return Failure(.networkUnreachable, message)
    case .unsupported, .badMessage: return Failure(.protocolViolation, message, class: .permanent)
    case .ok, .end: return Failure(.protocolViolation, message)
    case .failure: return isFull(status.message) ? full(message) : Failure(.serverError, message)
    case nil:
      // Of later versions (draft-ietf-secsh-filexfer-13, 9.1): no space, quota exceeded; write-protected; file exists.
      switch status.number {
      case 14, 15: return full(message)
      case 12: return Failure(.forbidden, message)
      case 10: return Failure(.notFound, message)
      default: return Failure(.serverError, message)
      }
    }
  }

  /// Version 3 has one code for all that goes wrong; servers name the reason in words.
  private static func isFull(_ message: String) -> Bool {
    let text = message.lowercased()
    return ["no space", "quota", "disk full"].contains { text.contains($0) }
  }

  /// As a full disk here: it passes, but not in a moment.
  private static func full(_ message: String) -> Failure { Failure(.diskFull, message) }

  /// Bytes that a full disk may still have: a write of more fails, whole or in part.
  private static let crumbs: UInt64 = 1 << 20

  /// A refused write as one to a full disk, where there is so little room: OpenSSH calls it a failure, and gives no reason.
  package static func ofWrite(_ failure: Failure, room: UInt64) -> Failure {
    guard failure.code == .serverError, room < crumbs else { return failure }
    return full("\(failure.message) – its disk has \(room) bytes left: make room there")
  }

  private static func words(_ status: SFTPStatus) -> String {
    // A stranger's text: one line, of a length that a message can carry.
    let text = String(
      status.message.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : Character($0) }
    ).truncated(to: 200)
    return text.isEmpty ? "SFTP status \(status.number)" : "\(text) (SFTP status \(status.number))"
  }
}
