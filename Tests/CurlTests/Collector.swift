import Curl

/// Keeps an answer, and does what a test tells it at its head and body.
final class Collector: CurlSink {
  var heads: [Int] = []
  var bytes: [UInt8] = []
  var calls = 0
  var onHead: () throws -> Void = {}
  /// Before bytes are kept: what to do with them, given how often it has been asked.
  var onBody: (Int) throws -> StreamDecision = { _ in .take }

  var text: String { String(decoding: bytes, as: UTF8.self) }

  func head(status: Int, headers: CurlHeaders) throws {
    heads.append(status)
    try onHead()
  }

  func body(_ bytes: UnsafeRawBufferPointer) throws -> StreamDecision {
    calls += 1
    let verdict = try onBody(calls)
    if verdict == .take { self.bytes += bytes }
    return verdict
  }
}

/// A body of so many bytes that pauses once, at an offset.
final class PausingSource: CurlBodySource, @unchecked Sendable {
  private let length: Int
  private let pauseAt: Int?
  private var offset = 0
  private var hasPaused = false
  private let onPause: @Sendable () -> Void
  private(set) var rewinds = 0
  /// Bytes that were written to the network, as it was told at the end.
  private(set) var sent: Int64?

  init(length: Int, pauseAt: Int? = nil, onPause: @escaping @Sendable () -> Void = {}) {
    self.length = length
    self.pauseAt = pauseAt
    self.onPause = onPause
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyRead {
    if let pauseAt, offset >= pauseAt, !hasPaused {
      hasPaused = true
      onPause()
      return .pause
    }
    let count = min(buffer.count, length - offset, 10_000)
    for index in 0..<count { buffer[index] = Self.byte(offset + index) }
    offset += count
    return .bytes(count)
  }

  func rewind() {
    offset = 0
    rewinds += 1
  }

  func settle(sent: Int64) { self.sent = sent }

  static func byte(_ offset: Int) -> UInt8 { UInt8(truncatingIfNeeded: offset &* 7 &+ offset >> 8) }
}

struct Refused: Error, Equatable {}

extension CurlError {
  /// The kind's name, without what it carries.
  var name: String { "\(kind)".prefix { $0 != "(" }.description }
}

/// The error that the work ends with.
func failure(_ work: () async throws(CurlError) -> some Any) async -> CurlError? {
  do throws(CurlError) {
    _ = try await work()
    return nil
  } catch {
    return error
  }
}
