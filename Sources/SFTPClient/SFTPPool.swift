import Endpoints
import JobModel
import Locks
import Posix

/// The connections of a run: few for each login, each shared by many requests at a time.
final class SFTPPool: Sendable {
  /// What has to be the same for two requests to share a connection.
  struct Key: Sendable, Hashable {
    var origin: String
    var login: SSHAuthentication
    var trust: SFTPTrust
    var ip: IPFamily
    var interface: String?
    var denied: [String]
  }

  /// A connection that somebody uses, as long as this is there.
  final class Lease: Sendable {
    let connection: SFTPConnection
    private let leave: @Sendable () -> Void

    fileprivate init(_ connection: SFTPConnection, leave: @escaping @Sendable () -> Void) {
      (self.connection, self.leave) = (connection, leave)
    }

    deinit { leave() }
  }

  private struct Slot: Sendable {
    let id: Int
    let task: Task<SFTPConnection, any Error>
    /// Nil while it is opened.
    var connection: SFTPConnection?
    var users = 0
    /// Who waits for it to be opened, and was not cancelled.
    var waiting = 0
    var isDead: Bool { connection?.isUsable == false }
    var offer: Offer {
      Offer(
        isOpen: connection != nil, users: users,
        isSilent: connection.map { $0.silence > SFTPPool.patience } ?? false)
    }
  }

  /// A connection as it is to who needs one.
  struct Offer {
    var isOpen: Bool
    var users: Int
    /// Others wait there, and nothing comes.
    var isSilent: Bool
  }

  /// Which connection to take, the best first: one that is not silent, the least used, an open one. Nil for another one.
  static func choice(_ offers: [Offer], most: Int) -> Int? {
    let best = offers.indices.min { one, other in
      let (first, second) = (offers[one], offers[other])
      if first.isSilent != second.isSilent { return second.isSilent }
      if first.users != second.users { return first.users < second.users }
      return first.isOpen && !second.isOpen
    }
    let isIdle = best.map { offers[$0].isOpen && offers[$0].users == 0 && !offers[$0].isSilent } ?? false
    let mayOpen = offers.count < most && offers.count { !$0.isOpen } < mostOpening
    return isIdle || !mayOpen ? best : nil
  }
  private struct State: Sendable {
    var slots: [Key: [Slot]] = [:]
    /// Logins that were refused for good, and until when nobody tries again.
    var refused: [Key: (failure: Failure, until: Double)] = [:]
    var lastID = 0
  }
  private let state = Locked(State())

  /// Connections that are opened at once: servers drop more that have not logged in yet (sshd's `MaxStartups`).
  private static let mostOpening = 3
  /// Seconds for which a refused login is not tried again: thousands of transfers would ask one after the other.
  private static let respite = 10.0
  /// Seconds of silence after which nobody new is put on a connection.
  private static let patience = 10.0

  /// Gives a connection, an idle one first; opens another while there are fewer than `most`, else the least used is shared, a
  /// silent one last.
  ///
  /// - Parameter open: makes a connection.
  nonisolated(nonsending) func lease(
    _ key: Key, most: Int, open: @escaping @Sendable () async throws -> SFTPConnection
  ) async throws -> Lease {
    let (id, task) = try enter(key, most, open)
    do {
      let connection = try await withTaskCancellationHandler {
        try await task.value
      } onCancel: {
        cancelOpening(key, id)
      }
      try Task.checkCancellation()
      note(connection, key, id)
      return Lease(connection) { [self] in leave(key, id, failure: nil) }
    } catch {
      leave(key, id, failure: error)
      throw error
    }
  }

  /// Gives a connection that somebody has.
  func lease(_ key: Key, of connection: SFTPConnection) -> Lease {
    let id = state.withLock { state in
      state.slots[key]?.first { $0.connection === connection }?.id
    }
    guard let id else { return Lease(connection) {} }
    change(key, id) { $0.users += 1 }
    return Lease(connection) { [self] in leave(key, id, failure: nil) }
  }

  private func enter(
    _ key: Key, _ most: Int, _ open: @escaping @Sendable () async throws -> SFTPConnection
  ) throws -> (Int, Task<SFTPConnection, any Error>) {
    let entry: Result<(Int, Task<SFTPConnection, any Error>), Failure> = state.withLock { state in
      if let (failure, until) = state.refused[key] {
        if SystemClock.uptime < until { return .failure(failure) }
        state.refused[key] = nil
      }
      var slots = state.slots[key, default: []].filter { !$0.isDead }
      defer { state.slots[key] = slots }
      var best = Self.choice(slots.map(\.offer), most: most)
      if best == nil {
        state.lastID += 1
        slots.append(Slot(id: state.lastID, task: Task { try await open() }))
        best = slots.count - 1
      }
      guard let best else { return .failure(Failure(.internal, "a pool of connections is empty")) }
      slots[best].users += 1
      slots[best].waiting += 1
      return .success((slots[best].id, slots[best].task))
    }
    return try entry.get()
  }

  private func note(_ connection: SFTPConnection, _ key: Key, _ id: Int) {
    change(key, id) { $0.connection = connection }
  }

  private func leave(_ key: Key, _ id: Int, failure: (any Error)?) {
    change(key, id) { $0.users -= 1 }
    guard let failure, !(failure is CancellationError) else { return }
    state.withLock { state in
      state.slots[key]?.removeAll { $0.id == id && $0.connection == nil }
      guard let failure = failure as? Failure, [.permanent, .denied].contains(failure.class) else { return }
      state.refused[key] = (failure, SystemClock.uptime + Self.respite)
    }
  }

  /// Nobody else's connection is lost when one transfer is stopped; the last one out ends its opening.
  private func cancelOpening(_ key: Key, _ id: Int) {
    change(key, id) { $0.waiting -= 1 }
    state.withLock { state in
      guard let slot = state.slots[key]?.first(where: { $0.id == id }), slot.connection == nil,
        slot.waiting <= 0
      else { return }
      slot.task.cancel()
      state.slots[key]?.removeAll { $0.id == id }
    }
  }

  private func change(_ key: Key, _ id: Int, _ change: (inout Slot) -> Void) {
    state.withLock { state in
      guard let index = state.slots[key]?.firstIndex(where: { $0.id == id }) else { return }
      if var slot = state.slots[key]?[index] {
        change(&slot)
        state.slots[key]?[index] = slot
      }
    }
  }
}
