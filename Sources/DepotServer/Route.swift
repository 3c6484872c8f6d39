/// Where a request's path leads.
enum Route: Equatable {
  /// Raw, still encoded segments after `/files/`.
  case file([Substring])
  case meta([Substring])
  case sessions
  case session(String)
  case chunk(String, Int)
  case chunks(String)
  case finalize(String)
  case unknown

  init(path: String) {
    let segments = path.prefix { $0 != "?" }.split(separator: "/", omittingEmptySubsequences: false)
      .dropFirst()
    switch segments.first {
    case "files": self = Self.files(Array(segments.dropFirst()))
    case "uploads": self = Self.uploads(segments.dropFirst().map(String.init))
    default: self = .unknown
    }
  }

  private static func files(_ path: [Substring]) -> Route {
    guard !path.isEmpty else { return .unknown }
    // Only a literal `meta` asks for the metadata: a file of that name is reached as `%6Deta`.
    return path.count > 1 && path.last == "meta" ? .meta(Array(path.dropLast())) : .file(path)
  }

  private static func uploads(_ path: [String]) -> Route {
    guard path.first == "sessions" else { return .unknown }
    switch path.count {
    case 1: return .sessions
    case 2: return .session(path[1])
    case 3 where path[2] == "chunks": return .chunks(path[1])
    case 3 where path[2] == "finalize": return .finalize(path[1])
    case 4 where path[2] == "chunks": return Int(path[3]).map { .chunk(path[1], $0) } ?? .unknown
    default: return .unknown
    }
  }
}
