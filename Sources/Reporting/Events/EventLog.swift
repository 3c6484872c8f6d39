import Dispatch
import Glibc
import JobModel
import Locks

/// Appends events as JSON lines; whoever tells of one waits neither for its text nor for a disk.
///
/// Lines go out whole, together, 200 ms after the first of them or when 256 have come together, and once what they tell is on
/// record (`follow`).
package final class EventLog: Sendable {
  /// Calls back when all that was told before is on record, or never will be.
  package typealias Record = @Sendable (_ recorded: @escaping @Sendable () -> Void) -> Void

  private struct Told {
    var event: RunEvent
    var seq: Int
    var at: Double
    /// The attempt that it is of, where that is an earlier one.
    var attempt: Int?
  }

  private struct State {
    var pending: [Told] = []
    var nextSeq: Int
    var writtenSeq: Int
    var isScheduled = false
    var hasFailed = false
    var record: Record?
  }

  private static let group = 256
  /// A reader that does not read holds the run up from here on, rather than filling the memory.
  private static let most = 1 << 11

  private let state: Locked<State>
  private let queue = DispatchQueue(label: "haul.events")
  private let encoder: EventJSON
  private let descriptor: Int32
  private let ownsDescriptor: Bool
  private let path: String
  private let now: @Sendable () -> Double
  private let onFailure: @Sendable (OutputFileError) -> Void

  /// - Parameters:
  ///   - path: how errors call the file.
  ///   - closing: the descriptor is the log's own, to be closed with it.
  ///   - firstSeq: the number of the first event, as `EventFile.open` tells it.
  ///   - now: seconds since 1970.
  ///   - onFailure: called once, when a line can't be written; no more are from then on.
  package init(
    descriptor: Int32, path: String, closing: Bool, run: String, attempt: Int, firstSeq: Int,
    now: @escaping @Sendable () -> Double, onFailure: @escaping @Sendable (OutputFileError) -> Void
  ) {
    self.descriptor = descriptor
    self.path = path
    self.now = now
    self.onFailure = onFailure
    ownsDescriptor = closing
    encoder = EventJSON(run: run, attempt: attempt)
    state = Locked(State(nextSeq: firstSeq, writtenSeq: firstSeq - 1))
  }

  deinit { if ownsDescriptor { close(descriptor) } }

  /// The number of the last event that is written: what the ledger keeps as the run's count. What a kill takes with it
  /// before it is written has no number, so that the next attempt leaves no gap.
  package var writtenSeq: Int { state.withLock { $0.writtenSeq } }

  /// - Parameter earlier: the attempt and the time, seconds since 1970, of what an earlier attempt could not tell.
  package func write(_ event: RunEvent, of earlier: (attempt: Int, at: Double)? = nil) {
    // Number and time are given under one lock, so that lines are in the order of both.
    let (count, isFirst) = state.withLock { state -> (Int, Bool) in
      guard !state.hasFailed else { return (0, false) }
      state.pending.append(
        Told(event: event, seq: state.nextSeq, at: earlier?.at ?? now(), attempt: earlier?.attempt))
      state.nextSeq += 1
      let isFirst = !state.isScheduled
      state.isScheduled = true
      return (state.pending.count, isFirst)
    }
    if isFirst { queue.asyncAfter(deadline: .now() + .milliseconds(200)) { [self] in writeRecorded() } }
    // A run that is killed soon has told that it began.
    if case .runStarted = event { queue.async { [self] in writeOut() } }
    if count >= Self.most {
      flush()
    } else if count == Self.group {
      queue.async { [self] in writeRecorded() }
    }
  }

  /// Returns when all that was told before is written.
  package func flush() { queue.sync { writeOut() } }

  /// From now on, lines wait until what they tell is on record: a kill would leave those of what is not. What is flushed
  /// does not wait.
  package func follow(_ record: @escaping Record) { state.withLock { $0.record = record } }

  /// Writes what was told so far, once it is on record. Runs on the queue.
  private func writeRecorded() {
    let (last, record) = state.withLock { state -> (Int?, Record?) in
      state.isScheduled = false
      return (state.pending.last?.seq, state.record)
    }
    guard let last else { return }
    guard let record else { return writeOut() }
    record { [self] in queue.async { [self] in writeOut(upTo: last) } }
  }

  /// Runs on the queue, so that groups stay in order.
  ///
  /// - Parameter last: the number of the last event that is written.
  private func writeOut(upTo last: Int = .max) {
    let told = state.withLock { state -> [Told] in
      let due = Array(state.pending.prefix { $0.seq <= last })
      state.pending.removeFirst(due.count)
      if state.pending.isEmpty { state.isScheduled = false }
      return state.hasFailed ? [] : due
    }
    guard !told.isEmpty else { return }
    var lines: [UInt8] = []
    do throws(OutputFileError) {
      for (index, one) in told.enumerated() {
        let encoder = one.attempt.map { EventJSON(run: self.encoder.run, attempt: $0) } ?? self.encoder
        encoder.write(one.event, seq: one.seq, at: one.at, to: &lines)
        guard (index + 1) % Self.group == 0 || index + 1 == told.count else { continue }
        try Descriptor.write(lines, to: descriptor, path: path)
        state.withLock { $0.writtenSeq = one.seq }
        lines.removeAll(keepingCapacity: true)
      }
    } catch {
      state.withLock { $0.hasFailed = true }
      onFailure(error)
    }
  }
}
