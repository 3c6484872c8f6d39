import JobLedger
import JobModel
import Locks
import Posix
import Scheduler

/// Delivers what a job's ledger owes.
struct NoticeDelivery: Sendable {
  /// Seconds that a run gives its notices, at its start and at its end.
  private static let pass = 30.0
  /// Seconds that a delivery has once a signal has asked for the end.
  private static let lastPatience = 1.0

  private let courier: NoticeCourier
  private let console: Console
  private let deadline: Double

  /// - Parameter deadline: on the clock of `SystemClock.uptime`, for commands as well; nil for as long as a run gives its
  ///   notices, whose commands may then go on for their 60 s.
  init(_ context: CommandContext, until deadline: Double? = nil) {
    self.deadline = deadline ?? SystemClock.uptime + Self.pass
    courier = NoticeCourier(context, until: self.deadline, endsCommands: deadline != nil)
    console = context.console
  }

  /// Runs a delivery; a signal cuts it short, and what it has not delivered stays owed.
  static func bounded(by stopper: StopController, _ body: @escaping @Sendable () async -> Void) async {
    let work = Task { await body() }
    stopper.attach { cause in
      guard cause == .interrupted else { return }
      Task {
        try? await Task.sleep(for: .seconds(lastPatience))
        work.cancel()
      }
    }
    await work.value
  }

  /// Sends what is owed now, some of each receiver at a time. A ledger that can't be written sends it again another time.
  ///
  /// - Returns: what came of those that had their turn, by their keys.
  @discardableResult
  func deliver(from ledger: JobLedger) async -> [String: NoticeRecord] {
    var records: [String: NoticeRecord] = [:]
    var (sent, stuck): ([OwedNotice], Set<String>) = ([], [])
    while !Task.isCancelled, SystemClock.uptime < deadline, let owed = try? ledger.owedNotices() {
      let next = owed.filter { records[$0.key] == nil && !stuck.contains($0.message.receiver) }
      guard !next.isEmpty else { break }
      for record in await send(next, noting: ledger) { records[record.key] = record }
      for notice in next where records[notice.key]?.state == .owed { stuck.insert(notice.message.receiver) }
      sent += next
    }
    say(sent, records)
    return records
  }

  /// Sends these notices.
  ///
  /// - Parameter ledger: where they are on record and it is noted what came of them; nil where nothing keeps them: what is
  ///   not delivered now has failed.
  /// - Returns: what came of those that had their turn, by their keys.
  func deliver(_ owed: [OwedNotice], noting ledger: JobLedger?) async -> [String: NoticeRecord] {
    let records = Dictionary(await send(owed, noting: ledger).map { ($0.key, $0) }) { first, _ in first }
    say(owed, records)
    return records
  }

  private func send(_ owed: [OwedNotice], noting ledger: JobLedger?) async -> [NoticeRecord] {
    let ended = Locked<[String: NoticeRecord]>([:])
    await courier.deliver(owed) { record in
      try? ledger?.note(record, at: SystemClock.now)
      ended.withLock { $0[record.key] = record }
    }
    let records = ended.withLock { $0 }
    return owed.map {
      var record = records[$0.key] ?? NoticeRecord($0)
      if ledger == nil, record.state == .owed { record.state = .failed }
      return record
    }
  }

  /// Says which were not delivered: a line for each receiver, however many it lacks.
  private func say(_ sent: [OwedNotice], _ records: [String: NoticeRecord]) {
    for state in [NoticeRecord.State.failed, .owed] {
      let late = sent.filter { records[$0.key]?.state == state }
      let lines = Dictionary(grouping: late) { $0.message.receiver }
      for notice in late {
        guard let line = lines[notice.message.receiver], line[0].key == notice.key,
          let record = records[notice.key]
        else { continue }
        let what =
          line.count == 1
          ? "the notice `\(record.event.rawValue)` (\(record.kind) \(record.target)) is not delivered"
          : "\(line.count) notices (\(record.kind) \(record.target)) are not delivered, the first `\(record.event.rawValue)`"
        console.error(
          "\(what): \(record.error ?? "its turn did not come")",
          hint: state == .owed
            ? "the next command for the job sends \(line.count == 1 ? "it" : "them") again" : nil)
      }
    }
  }
}
