import Endpoints
import HTTPClient
import JobLedger
import JobModel

/// What listings tell a run of the objects that it looks at: a window of the plan for each endpoint and direction, and the one
/// before it.
actor ListedWindows {
  struct Key: Hashable {
    let endpoint: String
    let direction: Direction
  }

  private struct Windows {
    var current = ListedWindow([])
    var previous = ListedWindow([])
    /// The last row of the plan that `current` has.
    var lastRow: Int64 = -1
    /// Someone asks for a page; these wait for it.
    var waiters: [CheckedContinuation<Void, Never>]?
    /// The endpoint's listings are of no use.
    var isOff = false
  }

  /// Rows of the plan that a window has, at most.
  private static let rows = 4096
  /// Rows that may have had their turn before the one that opens a window.
  private static let inFlight: Int64 = 512

  nonisolated private let executor: any SerialExecutor
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
  private var windows: [Key: Windows] = [:]

  init(_ executor: any SerialExecutor) { self.executor = executor }

  /// What is known of a transfer's object, or the page to ask for. Waits while another transfer asks for a page; who is told to
  /// ask calls `asked` in any case.
  ///
  /// - Parameter since: older answers don't count; seconds since 1970.
  /// - Throws: `LedgerError`.
  func step(
    _ name: String, row: Int64, _ key: Key, since time: Double, _ ledger: JobLedger
  ) async throws -> ListedWindow.Step {
    while true {
      var known = windows[key, default: Windows()]
      guard !known.isOff else { return .told(.untold) }
      if row > known.lastRow {
        let remotes = try ledger.remotesToCome(
          at: key.endpoint, key.direction, after: max(known.lastRow, row - Self.inFlight), limit: Self.rows)
        known.previous = known.current
        known.current = ListedWindow(remotes.paths)
        known.lastRow = max(row, remotes.lastRow)
        windows[key] = known
      }
      var step = known.current.step(name, since: time)
      if step == .told(.untold) { step = known.previous.step(name, since: time) }
      windows[key]?.current = known.current
      windows[key]?.previous = known.previous
      guard case .ask = step else { return step }
      guard windows[key]?.waiters != nil else {
        windows[key]?.waiters = []
        return step
      }
      await withCheckedContinuation { windows[key]?.waiters?.append($0) }
      try Task.checkCancellation()
    }
  }

  /// - Parameters:
  ///   - page: nil where the one who asked was stopped: another one asks.
  ///   - time: when it was asked for, seconds since 1970.
  func asked(_ place: ListedPlace, _ key: Key, at time: Double, _ page: Result<ListedPage, Failure>?) {
    switch page {
    case .success(let page):
      windows[key]?.current.take(page, of: place, at: time)
      windows[key]?.previous.take(page, of: place, at: time)
    case .failure(let failure):
      windows[key]?.current.close()
      windows[key]?.previous.close()
      if !failure.mayPass { windows[key]?.isOff = true }
    case nil: break
    }
    let waiters = windows[key]?.waiters ?? []
    windows[key]?.waiters = nil
    for waiter in waiters { waiter.resume() }
  }
}
