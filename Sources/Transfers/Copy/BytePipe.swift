import Endpoints
import JobModel

/// A few bytes between one request that brings them and another that sends them on, for what does not fit the buffer
/// budget or can't be read in parts.
///
/// Used on the transport's executor alone, hence sendable to it.
final class BytePipe: @unchecked Sendable {
  private enum State {
    case open, ended
    case failed(any Error)
  }

  /// High and low watermarks: the source pauses above the first and goes on below the second.
  private static let (high, low) = (1 << 20, 256 << 10)

  private var state = State.open
  private var bytes: [UInt8] = []
  private var start = 0
  private var resumeSource: (@Sendable () -> Void)?
  private var resumeSink: (@Sendable () -> Void)?

  private var count: Int { bytes.count - start }
  /// The last byte is held back until the source has come to its end, checks and all.
  private var ready: Int {
    switch state {
    case .open: max(0, count - 1)
    case .ended: count
    case .failed: 0
    }
  }

  func write(_ piece: UnsafeRawBufferPointer) {
    if start > Self.low {
      bytes.removeFirst(start)
      start = 0
    }
    bytes += piece
    if ready > 0 { wakeSink() }
  }

  func mustWait(_ resume: @escaping @Sendable () -> Void) -> Bool {
    guard count >= Self.high else { return false }
    resumeSource = resume
    return true
  }

  /// The source has given everything, or broke.
  func end(_ error: (any Error)?) {
    if case .open = state { state = error.map { .failed($0) } ?? .ended }
    wakeSink()
    wakeSource()
  }

  /// True where no byte is at hand: `resume` is then called once, when there is, or none will come.
  func lacksBytes(_ resume: @escaping @Sendable () -> Void) -> Bool {
    guard case .open = state, ready == 0 else { return false }
    resumeSink = resume
    return true
  }

  nonisolated(nonsending) func waitForBytes() async {
    await withCheckedContinuation { continuation in
      if !lacksBytes({ continuation.resume() }) { continuation.resume() }
    }
  }

  /// - Returns: 0 at the end, and where none are at hand.
  /// - Throws: what the source broke with.
  func read(into target: UnsafeMutableRawBufferPointer) throws -> Int {
    if case .failed(let error) = state { throw error }
    let taken = min(ready, target.count)
    bytes.withUnsafeBytes { target.copyMemory(from: .init(rebasing: $0[start..<start + taken])) }
    start += taken
    if count < Self.low { wakeSource() }
    return taken
  }

  private func wakeSink() {
    resumeSink?()
    resumeSink = nil
  }

  private func wakeSource() {
    resumeSource?()
    resumeSource = nil
  }
}

/// A part of an object on its way from one request to another, as the body of the second. It can't be sent again: the whole
/// part is then begun anew.
///
/// Used on the transport's executor alone, hence sendable to it.
final class PipedBody: SentBody, @unchecked Sendable {
  let length: Int64
  private let pipe: BytePipe
  private let begin: () -> Task<Void, Never>
  private var source: Task<Void, Never>?
  private let moved: (Int) -> Void
  private var hasBegun = false
  private(set) var sent: Int64 = 0
  private var given: Int64 = 0
  var hashed: String? { nil }

  /// - Parameter begin: opens the source: not before the request that sends it on has its connection.
  init(
    _ pipe: BytePipe, length: Int64, begin: @escaping () -> Task<Void, Never>, moved: @escaping (Int) -> Void
  ) {
    (self.pipe, self.length, self.begin, self.moved) = (pipe, length, begin, moved)
  }

  /// The request is over, and its source with it.
  deinit { source?.cancel() }

  var mayBeRepeated: Bool { !hasBegun }

  func lacksBytes(_ resume: @escaping @Sendable () -> Void) -> Bool {
    if !hasBegun {
      hasBegun = true
      source = begin()
    }
    return length > 0 && pipe.lacksBytes(resume)
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    let count = try pipe.read(into: buffer)
    sent += Int64(count)
    given += Int64(count)
    moved(count)
    return count
  }

  func rewind() throws {
    guard hasBegun else { return }
    throw Failure(.networkUnreachable, "the request has to be made again, and its body has passed already")
  }

  func settle(sent settled: Int64) {
    sent += settled - given
    moved(Int(settled - given))
    given = 0
  }
}
