import Locks

/// Whether a store's ETags are the MD5s of what it took, as its answers have shown; by endpoint.
///
/// One that is another MD5 may mean damage, or that ETags are made in another way. So the bytes are sent again with
/// their MD5 in Content-MD5: a store that takes them then, and answers with another ETag still, makes them in another way.
final class ETagMeanings: Sendable {
  enum Meaning { case doubted, md5, other }

  /// What an ETag says of bytes whose MD5 is known.
  enum Finding { case match, damaged, nothing }

  private let meanings = Locked<[String: Meaning]>([:])

  /// nil before an answer came with nothing but an ETag.
  subscript(_ endpoint: String) -> Meaning? { meanings.withLock { $0[endpoint] } }

  /// - Parameter wentAlong: the bytes were sent with their MD5, and taken.
  func judge(_ endpoint: String, matches: Bool, wentAlong: Bool) -> Finding {
    meanings.withLock { meanings in
      if matches {
        meanings[endpoint] = .md5
        return .match
      }
      switch meanings[endpoint] {
      case .md5: return .damaged
      case .other: return .nothing
      case .doubted where wentAlong:
        meanings[endpoint] = .other
        return .nothing
      case .doubted: return .damaged
      case nil:
        meanings[endpoint] = wentAlong ? .other : .doubted
        return wentAlong ? .nothing : .damaged
      }
    }
  }
}
