import JobModel

/// Gives an uploaded file its name (MOVE; RFC 4918, 9.9).
///
/// First by a MOVE that replaces nothing. One with `Overwrite: T` deletes whatever is there, a folder with all that is in it
/// too; and some servers (Go's webdav package, so `rclone serve webdav`) delete it before they look for the file that is to
/// take its place. So it is sent only behind two answers: the temporary name is there with all bytes, and the destination is
/// a file. After a fault all of this begins anew.
struct WebDAVClosing: Exchange {
  private enum Step {
    case begun, moving, askingTemporary(refused: Response), askingDestination, replacing
  }

  let temporary: WebURL
  let destination: WebURL
  /// Names of both below the endpoint's URL.
  let depth: Int
  /// What stands at the destination is kept.
  let mustBeNew: Bool
  /// Bytes that were sent.
  let size: Int64
  private var step = Step.begun

  init(_ temporary: WebURL, to destination: WebURL, depth: Int, size: Int64, mustBeNew: Bool) {
    (self.temporary, self.destination, self.depth) = (temporary, destination, depth)
    (self.size, self.mustBeNew) = (size, mustBeNew)
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
      if WebDAVUpload.isGone(response, at: temporary, depth: depth) { throw WebDAVUpload.gone(temporary) }
      guard refused.status == 412, !mustBeNew else { return .end(refused) }
      let arrived = try file(response, at: temporary, now).size ?? size
      guard arrived == size else {
        throw WebDAVUpload.short(temporary, arrived, of: size, before: destination)
      }
      step = .askingDestination
      return .send(MultiStatus.ask(destination, depth: 0))
    case .askingDestination:
      step = .replacing
      if WebDAVUpload.isGone(response, at: destination, depth: depth) {
        return .send(move(overwrites: false))
      }
      _ = try file(response, at: destination, now)
      return .send(move(overwrites: true))
    }
  }

  /// What a PROPFIND tells of a file.
  ///
  /// - Throws: `Failure` for all but an answer that says for certain that a file is there.
  private func file(
    _ response: Response, at url: WebURL, _ now: Double
  ) throws(Failure) -> MultiStatus.Resource {
    let there = response.status == 207 ? MultiStatus(response)?.resource(at: url, depth: depth) : nil
    if response.status >= 400 || there?.isRefused == true {
      throw WebDAVError.of(response, as: there, doing: "look before a file is replaced", now: now)
    }
    guard let there, let isFolder = there.isFolder else {
      throw Failure(
        .protocolViolation,
        "\(url) answered PROPFIND with \(response.status) and no word whether it is a file: nothing is replaced",
        httpStatus: response.status)
    }
    guard !isFolder else {
      throw Failure(
        .destinationExists,
        "\(url) is a folder: haul replaces files alone; write another name after `to`")
    }
    return there
  }

  private func move(overwrites: Bool) -> Request {
    Request(
      "MOVE", temporary, headers: ["Destination": destination.text, "Overwrite": overwrites ? "T" : "F"])
  }
}
