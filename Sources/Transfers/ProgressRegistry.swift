package import Admission
package import JobLedger
package import JobModel
import Locks
import Synchronization

/// The transfers in flight, for the live view: written by the engine, read by whoever shows them.
package final class ProgressRegistry: Sendable {
  private let transfers = Locked<[Int64: LiveTransfer]>([:])
  private let movedBytes = Atomic<Int>(0)

  package init() {}

  /// Body bytes that crossed the network in this attempt.
  package var moved: Int { movedBytes.load(ordering: .relaxed) }

  package var current: [LiveTransfer] {
    transfers.withLock { $0.values.sorted { $0.seq < $1.seq } }
  }

  private let holding = Locked<[String: Hold]>([:])
  private let limited = Locked<Bandwidth?>(nil)

  /// What holds transfers back now, by policy or server.
  package var holds: [String: Hold] { holding.withLock { $0 } }
  package func setHold(_ hold: Hold?, of name: String) { holding.withLock { $0[name] = hold } }

  /// What `haul limit` says; nil while the policies hold.
  package var limit: Bandwidth? { limited.withLock { $0 } }
  package func setLimit(_ limit: Bandwidth?) { limited.withLock { $0 = limit } }

  private let standing = Locked<[String: HostStanding]>([:])

  /// Servers that are not asked as freely as the policies let.
  package var hosts: [HostStanding] { standing.withLock { $0.values.sorted { $0.host < $1.host } } }

  private let concurrencies = Locked<[String: Int]>([:])
  /// Requests at a time that `connections: auto` has come to, by host.
  package var concurrency: [String: Int] { concurrencies.withLock { $0 } }

  /// - Parameter now: seconds since 1970.
  package func note(_ news: HostNews, now: Double) {
    standing.withLock { hosts in
      switch news.change {
      case .sized(let requests): concurrencies.withLock { $0[news.host] = requests }
      case .closed, .recovered, .networkBack: hosts[news.host] = nil
      case .slowed, .opened, .probing, .givenUp, .noNetwork:
        hosts[news.host] = HostStanding(
          host: news.host, change: news.change.word, reason: news.change.reason, since: now,
          until: news.change.rest.map { now + $0 })
      }
    }
  }

  package func enter(_ transfer: LiveTransfer) { transfers.withLock { $0[transfer.seq] = transfer } }
  package func leave(_ seq: Int64) { _ = transfers.withLock { $0.removeValue(forKey: seq) } }
  func count(_ bytes: Int) { movedBytes.add(bytes, ordering: .relaxed) }
}

/// One transfer in flight.
package final class LiveTransfer: Sendable {
  package let seq: Int64
  package let id: String
  package let direction: Verb
  private let sizeBytes = Atomic<Int>(-1)
  private let doneBytes = Atomic<Int>(0)
  private let retryCount = Atomic<Int>(0)

  package init(seq: Int64, id: String, direction: Verb) {
    self.seq = seq
    self.id = id
    self.direction = direction
  }

  /// Bytes; nil while unknown.
  package var size: Int64? {
    let size = sizeBytes.load(ordering: .relaxed)
    return size < 0 ? nil : Int64(size)
  }
  /// Bytes that are there already.
  package var done: Int64 { Int64(doneBytes.load(ordering: .relaxed)) }
  package var retries: Int { retryCount.load(ordering: .relaxed) }

  package func setSize(_ bytes: Int64) { sizeBytes.store(Int(bytes), ordering: .relaxed) }
  func setDone(_ bytes: Int64) { doneBytes.store(Int(bytes), ordering: .relaxed) }
  func add(_ bytes: Int64) { doneBytes.add(Int(bytes), ordering: .relaxed) }
  func countRetry() { retryCount.add(1, ordering: .relaxed) }
}
