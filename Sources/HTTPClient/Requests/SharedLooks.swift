import Endpoints
import Locks

/// Lets uploads that look at files of one folder at the same time ask once for all of them.
///
/// Who asks first asks for its own file. Those who come while its answer is on the way wait for it to end; then one of them asks for
/// all, so that no answer is older than the request for it.
final class SharedLooks: Sendable {
  struct Key: Sendable, Hashable {
    let endpoint: String
    let folder: String
  }

  enum Turn: Sendable {
    /// To ask, for others too or not, and then to call `end`.
    case ask(hasOthers: Bool)
    /// Another one has asked; nil where its answer is of no use.
    case told(Response?)
  }

  private struct Waiter {
    let id: Int
    let goOn: CheckedContinuation<Turn, Never>
  }

  private struct Folder {
    /// Whom the one who asks asks for as well.
    var followers: [Waiter] = []
    /// Those who came since it began.
    var waiters: [Waiter] = []
    /// Names that the last answer told of.
    var names = 0
    var isAsked = false
  }

  /// Names that an answer may have for each file that is asked for: more would cost more than a request each.
  private static let worthwhile = 32

  private let folders = Locked<[Key: Folder]>([:])
  private let lastID = Locked(0)

  /// - Returns: also when the task is cancelled, as if another one's answer were of no use.
  nonisolated(nonsending) func turn(_ key: Key) async -> Turn {
    let id = lastID.withLock { last -> Int in
      last += 1
      return last
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { (continuation: CheckedContinuation<Turn, Never>) in
        let begins = folders.withLock { folders -> Bool in
          guard folders[key]?.isAsked == true else {
            folders[key, default: Folder()].isAsked = true
            return true
          }
          folders[key]?.waiters.append(Waiter(id: id, goOn: continuation))
          return false
        }
        if begins { continuation.resume(returning: .ask(hasOthers: false)) }
        // It may have been cancelled before it waited.
        if Task.isCancelled { drop(id, key) }
      }
    } onCancel: {
      drop(id, key)
    }
  }

  /// Lets one that waits go, where it still does.
  private func drop(_ id: Int, _ key: Key) {
    let dropped = folders.withLock { folders -> Waiter? in
      if let index = folders[key]?.waiters.firstIndex(where: { $0.id == id }) {
        return folders[key]?.waiters.remove(at: index)
      }
      guard let index = folders[key]?.followers.firstIndex(where: { $0.id == id }) else { return nil }
      return folders[key]?.followers.remove(at: index)
    }
    dropped?.goOn.resume(returning: .told(nil))
  }

  /// How many wait for the one who asks to end.
  func waiting(_ key: Key) -> Int { folders.withLock { $0[key]?.waiters.count ?? 0 } }

  /// - Parameters:
  ///   - names: how many the answer tells of, `.max` where it is of no use; nil where the folder was not asked for.
  ///   - isWorking: false where the server can't be asked now: nobody waits for the next one to find out.
  func end(_ key: Key, _ response: Response?, names: Int?, isWorking: Bool) {
    let turns = folders.withLock { folders -> [(Waiter, Turn)] in
      guard var folder = folders[key] else { return [] }
      var turns = folder.followers.map { ($0, Turn.told(response)) }
      folder.names = names ?? folder.names
      let isWorthIt = isWorking && folder.waiters.count * Self.worthwhile >= folder.names
      if isWorthIt, let next = folder.waiters.first {
        folder.followers = Array(folder.waiters.dropFirst())
        turns.append((next, .ask(hasOthers: !folder.followers.isEmpty)))
      } else {
        turns += folder.waiters.map { ($0, .told(nil)) }
        (folder.followers, folder.isAsked) = ([], false)
      }
      folder.waiters = []
      // A million folders are not remembered: only how large one is that nobody asks for as a whole again.
      folders[key] = folder.isAsked || folder.names > Self.worthwhile ? folder : nil
      return turns
    }
    for (waiter, turn) in turns { waiter.goOn.resume(returning: turn) }
  }
}
