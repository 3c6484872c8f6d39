import JobModel

/// What lies directly in a folder by its multi-status: hrefs are URLs, absolute or relative, percent-encoded, and behind a
/// proxy they may begin with other folders than were asked for (RFC 4918, 8.3).
struct FolderNames {
  private(set) var files: [(name: String, MultiStatus.Resource)] = []
  private(set) var folders: [String] = []
  /// What the server refuses to tell of: files, or folders with all that is in them.
  private(set) var refused: [(name: String, MultiStatus.Resource)] = []

  /// - Parameter asked: the folder's URL.
  /// - Throws: `Failure` where the answer is not of this folder.
  init(_ response: Response, asked: WebURL) throws(Failure) {
    guard let status = MultiStatus(response) else {
      // It may have been cut on its way.
      throw Self.violation(response, "answered PROPFIND without a multi-status: is it a WebDAV server?")
        .classed(.transient)
    }
    var found: [(names: [String], MultiStatus.Resource)] = []
    for resource in status.resources {
      guard let names = Self.names(resource.href, response.url) else {
        throw Self.violation(
          response,
          "lists `\(resource.href.truncated(to: 300))`, which is not a name in it, or not one in UTF-8")
      }
      found.append((names, resource))
    }
    // It lists itself too, by the shortest href.
    guard let own = found.min(by: { $0.names.count < $1.names.count }) else {
      throw Self.violation(response, "lists nothing, not even itself")
    }
    // Said once more with 507, its names are not all there.
    for (names, resource) in found where names.count == own.names.count && resource.isRefused {
      throw Self.refusal(of: resource, response)
    }
    guard own.1.isFolder == true, Self.isSame(own.names, as: asked) else {
      throw Self.violation(
        response, "is not a folder by its own listing, which begins with `\(own.1.href.truncated(to: 300))`")
    }
    for (names, resource) in found {
      guard names.starts(with: own.names, by: Self.isSame) else {
        throw Self.violation(
          response, "lists `\(resource.href.truncated(to: 300))`, which does not lie in it")
      }
      // What lies deeper is listed with its own folder; what has just gone is not there.
      guard names.count == own.names.count + 1, let name = names.last,
        ![404, 410].contains(resource.status)
      else { continue }
      if resource.isRefused {
        refused.append((name, resource))
      } else if resource.isFolder ?? (resource.href.utf8.last == UInt8(ascii: "/")) {
        folders.append(name)
      } else {
        files.append((name, resource))
      }
    }
  }

  /// Why a listing is not whole.
  static func refusal(of resource: MultiStatus.Resource, _ response: Response) -> Failure {
    guard resource.status == 507 else {
      return WebDAVError.of(response, as: resource, doing: "list", now: 0)
    }
    return Failure(
      .serverError,
      "\(response.url): the server cut the listing short, with HTTP 507 for `\(resource.href.truncated(to: 300))`: have its limit raised, or list smaller folders",
      class: .permanent, httpStatus: 507)
  }

  /// The names that lead there from the server's root; nil where one can't be part of a path.
  private static func names(_ href: String, _ base: WebURL) -> [String]? {
    guard let path = base.resolving(href)?.path else { return nil }
    var names: [String] = []
    for piece in path.utf8.split(separator: UInt8(ascii: "/")) {
      let name = WebURL.decode(Substring(piece))
      guard name != ".", name != "..", !name.utf8.contains(where: { $0 == UInt8(ascii: "/") || $0 == 0 }),
        WebURL.decodesToText(Substring(piece))
      else {
        return nil
      }
      names.append(name)
    }
    return names
  }

  /// Proxies change how a path begins, never the folder's own name.
  private static func isSame(_ names: [String], as asked: WebURL) -> Bool {
    let wanted = asked.path.utf8.split(separator: UInt8(ascii: "/")).last.map { WebURL.decode(Substring($0)) }
    guard let wanted, let name = names.last else { return true }
    return wanted == name
  }

  private static func isSame(_ one: String, _ other: String) -> Bool {
    one.utf8.elementsEqual(other.utf8)
  }

  private static func violation(_ response: Response, _ what: String) -> Failure {
    Failure(
      .protocolViolation, "\(response.url) \(what)", class: .permanent, httpStatus: response.status)
  }
}
