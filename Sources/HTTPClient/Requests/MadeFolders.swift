import Locks

/// The folders that a run has made or asked for, so that each is asked for once, and not once a file.
final class MadeFolders: Sendable {
  struct Key: Sendable, Hashable {
    let endpoint: String
    let folder: String
  }

  private typealias Waiter = CheckedContinuation<Bool, Never>

  private struct Folders {
    /// Those that a server has answered for, whatever it said.
    var answered: Set<Key> = []
    /// Those that are on their way, with who waits for them.
    var making: [Key: [Waiter]] = [:]
  }

  /// A million folders are not remembered: those behind these are asked for anew.
  private static let most = 10_000

  private let folders = Locked(Folders())

  /// Whether the caller is to make the folder, and then to call `end`.
  ///
  /// - Parameter mayWait: while another one makes it; else it is made twice.
  nonisolated(nonsending) func mustMake(_ key: Key, mayWait: Bool) async -> Bool {
    await withCheckedContinuation { continuation in
      let answer = folders.withLock { folders -> Bool? in
        if folders.answered.contains(key) { return false }
        guard let waiters = folders.making[key] else {
          folders.making[key] = []
          return true
        }
        guard mayWait else { return true }
        folders.making[key] = waiters + [continuation]
        return nil
      }
      if let answer { continuation.resume(returning: answer) }
    }
  }

  /// How many wait for the folder.
  func waiting(_ key: Key) -> Int { folders.withLock { $0.making[key]?.count ?? 0 } }

  /// - Parameter isAnswered: false where the server can't be asked now: the next file asks anew, and those who wait do not.
  func end(_ key: Key, isAnswered: Bool) {
    let waiters = folders.withLock { folders -> [Waiter] in
      if isAnswered {
        if folders.answered.count >= Self.most { folders.answered = [] }
        folders.answered.insert(key)
      }
      return folders.making.removeValue(forKey: key) ?? []
    }
    for waiter in waiters { waiter.resume(returning: false) }
  }
}
