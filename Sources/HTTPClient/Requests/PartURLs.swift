import Endpoints
import JobModel

/// Presigned part URLs of one session, which a server hands out in batches. Secrets: never recorded.
struct PartURLs {
  /// How often a URL may be refused before that counts.
  private static let mostRefusals = 2

  /// What the tries of one chunk that is on its way have come to.
  private struct Tries {
    /// The URL of the last try.
    var used: WebURL?
    var refusals = 0
    var takenAtRefusal: Int
    var forgiven = 0
  }

  private var session: RemoteSession?
  /// By chunk.
  private var urls: [Int: WebURL] = [:]
  private var tries: [Int: Tries] = [:]
  /// Chunks that the server has taken.
  private var taken = 0

  /// A chunk is about to be sent; those of another session have other URLs.
  mutating func begin(_ chunk: Int, in session: RemoteSession) {
    if self.session?.id != session.id || self.session?.facts != session.facts { self = PartURLs() }
    self.session = session
    tries[chunk, default: Tries(takenAtRefusal: taken)].used = nil
  }

  /// The URL for a chunk, where it is known.
  mutating func take(_ chunk: Int) -> WebURL? {
    let url = urls[chunk]
    tries[chunk]?.used = url
    return url
  }

  /// The chunks to ask for: this one, and those that come next.
  func missing(_ chunk: Int, _ coming: [Int], most: Int) -> [Int] {
    [chunk] + coming.filter { $0 != chunk && urls[$0] == nil }.prefix(max(0, most - 1))
  }

  mutating func add(_ more: [Int: WebURL]) { urls.merge(more) { _, new in new } }

  mutating func accepted(_ chunk: Int) {
    (urls[chunk], tries[chunk]) = (nil, nil)
    taken += 1
  }

  /// A chunk was refused. Whether its URL is to be asked for anew, once more: what was handed out together expires
  /// together, so that all are forgotten, unless another chunk has seen to that since.
  mutating func refused(_ chunk: Int, _ failure: Failure, attempts: Int) -> Bool {
    guard var tried = tries[chunk], let used = tried.used else {
      tries[chunk]?.refusals = 0
      return false
    }
    defer { tries[chunk] = tried }
    guard failure.class == .denied || failure.class == .credentialExpired else {
      // The URL may expire while a retry is waited for.
      tried.refusals = 0
      return false
    }
    // A server that has taken other chunks meanwhile most likely refuses a URL that has expired.
    if taken > tried.takenAtRefusal, tried.forgiven < attempts {
      tried.refusals = 0
      tried.forgiven += 1
    }
    tried.takenAtRefusal = taken
    guard tried.refusals < Self.mostRefusals else {
      tried.refusals = 0
      return false
    }
    tried.refusals += 1
    if urls[chunk] == used { urls = [:] }
    return true
  }
}
