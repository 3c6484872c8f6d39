import JobModel

/// Makes the folders of a path that are missing below an endpoint's URL (MKCOL; RFC 4918, 9.3): the deepest first, and
/// what that lacks before it.
struct FolderMaking: Exchange {
  private let root: WebURL
  private let names: [String]
  /// How many of the names lead to each folder that is to be made, the next one last.
  private var pending: [Int]
  /// The one that was made last: what lies in it can't lack it any more.
  private var made: Int?
  /// The one that was refused and is asked for once more.
  private var doubted: Int?
  /// It was there before.
  private var isFound = false
  /// What the last one was refused with, while each on the way to it is looked at: it may be a file.
  private var refusal: Response?
  private var looked = 0

  /// Nil where the path lies in no folder.
  init?(of path: String, below root: WebURL) {
    // By bytes: to Swift, a slash and a combining mark behind it are one character.
    var names = path.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
    guard names.popLast() != nil, !names.isEmpty else { return nil }
    (self.root, self.names, pending) = (root, names, [names.count])
  }

  mutating func next(after response: Response?, now: Double) throws(Failure) -> ExchangeStep {
    guard let response else { return .send(make(names.count)) }
    if let refusal { return try look(response, refusal, now) }
    let depth = pending.last ?? 0
    switch response.status {
    // 405: it is there, made by another upload of the same moment for instance. Some servers say so with 301.
    case 200...206, 301, 405:
      made = pending.popLast()
      isFound = response.status > 206
    // mod_dav says 400 of what lies below a file, others say that a file is there.
    case 400,
      404 where made != nil && isFound, 409 where made != nil && isFound:
      refusal = response
      return lookAtNext()
    case 404, 409:
      guard made == nil else { throw refused(response, depth, now) }
      guard depth > 1 else {
        throw Self.missing(root, response, to: "MKCOL")
      }
      pending.append(depth - 1)
    // mod_dav answers so where another upload made the folder since it looked: asked again, it says 405.
    case 403 where doubted != depth: doubted = depth
    default: throw refused(response, depth, now)
    }
    return pending.last.map { .send(make($0)) } ?? .end(response)
  }

  private mutating func lookAtNext() -> ExchangeStep {
    looked += 1
    return .send(MultiStatus.ask(place, depth: 0))
  }

  /// The one that is looked at. Without a slash: to mod_dav a file with one is nothing.
  private var place: WebURL { root.appending(WebURL.encode(names.prefix(looked).joined(separator: "/"))) }

  private mutating func look(
    _ response: Response, _ refusal: Response, _ now: Double
  ) throws(Failure) -> ExchangeStep {
    if response.status == 207,
      MultiStatus(response)?.resource(at: place, depth: looked)?.isFolder == false
    {
      throw Failure(.notFound, "\(place) is a file, where a folder is to be")
    }
    guard looked < names.count else { throw refused(refusal, pending.last ?? 0, now) }
    return lookAtNext()
  }

  /// The endpoint's own folder, which is nobody's to make but the user's.
  static func missing(_ root: WebURL, _ response: Response, to method: String) -> Failure {
    Failure(
      .notFound,
      "\(root) is not there, and haul makes folders only below it: HTTP \(response.status) for \(method); correct the endpoint's `url`, or make the folder",
      httpStatus: response.status)
  }

  private func refused(_ response: Response, _ depth: Int, _ now: Double) -> Failure {
    WebDAVError.of(response, doing: "make the folder `\(path(depth))`", now: now)
  }

  private func path(_ depth: Int) -> String { names.prefix(depth).joined(separator: "/") + "/" }

  private func make(_ depth: Int) -> Request {
    Request("MKCOL", root.appending(WebURL.encode(path(depth))))
  }
}
