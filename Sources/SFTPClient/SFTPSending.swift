import Digests
import Endpoints
import JobModel

/// The open temporary file of an upload.
final class SFTPSending {
  let session: String
  let handle: SFTPHandle
  /// This process has made the file.
  private let isNew: Bool
  private var isOpen = true
  /// The server has taken a chunk by this handle.
  var hasTaken = false
  var pace: SyncPace

  init(_ session: String, _ handle: SFTPHandle, isNew: Bool, now: Double) {
    (self.session, self.handle, self.isNew, pace) = (session, handle, isNew, SyncPace(now))
  }

  /// The server has opened a file that was there already, and takes nothing of it.
  func isRefusedAnew(_ failure: Failure) -> Bool {
    !isNew && !hasTaken && [.serverError, .forbidden, .protocolViolation].contains(failure.code)
  }

  var connection: SFTPConnection { handle.connection }

  func end() {
    if isOpen { handle.close() }
    isOpen = false
  }

  /// What was closed elsewhere.
  func isClosed() { isOpen = false }

  /// A chunk whose bytes are all on their way.
  struct Written {
    fileprivate let answers: [SFTPAnswer]
    fileprivate let files: SFTPFiles
    fileprivate let handle: SFTPHandle
    let receipt: String

    /// Waits until the server has taken all of it.
    nonisolated(nonsending) func wait() async throws {
      for answer in answers { try await SFTPSending.confirm(answer, files, handle) }
    }
  }

  /// Waits for the answer to a write.
  private static nonisolated(nonsending) func confirm(
    _ answer: SFTPAnswer, _ files: SFTPFiles, _ handle: SFTPHandle
  ) async throws {
    let reply = try await answer.value()
    do throws(Failure) { _ = try files.refused(reply, what) } catch {
      guard error.code == .serverError, handle.connection.extensions.contains(.room),
        case .extended(let bytes)? = try? await handle.connection.ask(.room(handle.id), within: files.timeout),
        let room = SFTPReply.room(bytes)
      else { throw error }
      throw SFTPFailure.ofWrite(error, room: room)
    }
  }

  fileprivate static let what = "write the upload"

  /// Sends a chunk, and does not wait for its last answers: the next one may follow.
  nonisolated(nonsending) func write(
    _ chunk: UploadChunk, _ body: any ByteReader, _ files: SFTPFiles, _ requests: any DirectRequests
  ) async throws -> Written {
    var answers: [SFTPAnswer] = []
    var (first, waiting) = (0, Int64(0))
    var counts: [Int] = []
    var checksum = CRC64NVME()
    var position = chunk.range.lowerBound
    while position < chunk.range.upperBound {
      try Task.checkCancellation()
      let most = requests.step(connection.writeLength, .upload)
      let count = Int(min(Int64(most), chunk.range.upperBound - position))
      try await requests.pace(count, .upload)
      let bytes = try await Self.read(count, body)
      checksum.update(bytes)
      answers.append(
        try await connection.write(bytes, at: position, to: handle.id, within: files.stall))
      counts.append(bytes.count)
      position += Int64(bytes.count)
      waiting += Int64(bytes.count)
      // What the server refuses ends the chunk.
      while waiting > SFTPConnection.window {
        try await Self.confirm(answers[first], files, handle)
        waiting -= Int64(counts[first])
        first += 1
      }
    }
    return Written(
      answers: Array(answers[first...]), files: files, handle: handle, receipt: Self.receipt(checksum))
  }

  private nonisolated(nonsending) static func read(_ count: Int, _ body: any ByteReader) async throws
    -> [UInt8]
  {
    var bytes = [UInt8](repeating: 0, count: count)
    var filled = 0
    while filled < count {
      await body.bytes()
      let more = try bytes.withUnsafeMutableBytes { try body.read(into: .init(rebasing: $0[filled...])) }
      guard more > 0 else { throw Failure(.internal, "the body of a chunk ends early") }
      filled += more
    }
    return bytes
  }

  /// What is recorded with a chunk, to be compared with what reads back.
  static func receipt(_ checksum: CRC64NVME) -> String { "crc64nvme:" + String(checksum.value, radix: 16) }
}
