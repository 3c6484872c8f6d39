import JobModel

/// Gives an uploaded file its name (MOVE; RFC 4918, 9.9).
///
/// First by a MOVE that replaces nothing. One with `Overwrite: T` deletes whatever is there, a folder with all that is in it
/// too; and some servers (Go's webdav package, so `rclone serve webdav`) delete it before they look for the file that is to
/// take its place. So it is sent only behind two answers: the temporary name is there, and the destination is no folder.
/// After a fault all of this begins anew.
struct WebDAVClosing: Exchange {
  private enum Step {
    case begun, moving, askingTemporary(refused: Response), askingDestination, replacing
  }

  let temporary: WebURL
  let destination: WebURL
  /// What stands at the destination is kept.
  let mustBeNew: Bool
  private var step = Step.begun

  init(_ temporary: WebURL, to destination: WebURL, mustBeNew: Bool) {
    (self.temporary, self.destination, self.mustBeNew) = (temporary, destination, mustBeNew)
  }

  mutating func next(after response: Response?, now: Double) throws(Failure) -> ExchangeStep {
    guard let response else {
      step = .moving
      return .send(move(overwrites: false))
    }
    switch step {
    case .begun, .replacing: return .end(response)
    case .moving:
      // A file that is gone is told in as many words as there are makes.
      guard [403, 404, 409, 412].contains(response.status) else { return .end(response) }
      step = .askingTemporary(refused: response)
      return .send(MultiStatus.ask(temporary, depth: 0))
    case .askingTemporary(let refused):
      if WebDAVUpload.isGone(response) { throw WebDAVUpload.gone(temporary) }
      guard refused.status == 412, !mustBeNew else { return .end(refused) }
      step = .askingDestination
      return .send(MultiStatus.ask(destination, depth: 0))
    case .askingDestination:
      step = .replacing
      if WebDAVUpload.isGone(response) { return .send(move(overwrites: false)) }
      guard let there = MultiStatus(response)?.resources.first else {
        throw Failure(
          .protocolViolation,
          "\(destination) answered PROPFIND with \(response.status) and no multi-status: it may be a folder, and is not replaced",
          httpStatus: response.status)
      }
      guard !there.isFolder else {
        throw Failure(
          .destinationExists,
          "\(destination) is a folder: haul replaces files alone; write another name after `to`")
      }
      return .send(move(overwrites: true))
    }
  }

  private func move(overwrites: Bool) -> Request {
    Request(
      "MOVE", temporary, headers: ["Destination": destination.text, "Overwrite": overwrites ? "T" : "F"])
  }
}
