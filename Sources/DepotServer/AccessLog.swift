import FoundationEssentials
import Glibc

/// One JSON line a request, appended whole.
final class AccessLog: Sendable {
  struct Line: Encodable {
    var time: String
    var method: String
    var path: String
    /// Absent where the connection was closed without an answer.
    var status: Int?
    var range: String?
    var content_range: String?
    var chunk: Int?
    var bytes_in: Int
    var bytes_out: Int
    var ms: Double
    var fault: Bool?
    /// The request asked for a digest of its answer: the client may end such an answer at its head.
    var wants_digest: Bool?
  }

  private let descriptor: Int32

  init(path: String) throws {
    descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else {
      throw DepotError(exitCode: 73, description: "--access-log \(path): \(String(cString: strerror(errno)))")
    }
  }

  deinit {
    close(descriptor)
  }

  func write(_ line: Line) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let text = try? encoder.encode(line) else { return }
    // One write(2) with O_APPEND: lines of requests at the same time don't mix. A full disk must not stop service.
    try? Disk.writeAll(descriptor, Array(text) + [UInt8(ascii: "\n")])
  }
}
