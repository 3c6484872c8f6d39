import Glibc
import JobModel
import Posix
import Reporting

/// How far a verification has come, and what it has found so far: `verify.jsonl` in the job's state, so that a stopped one is
/// gone on with. One process at a time has it (flock(2)).
///
/// The first line says what was asked; then findings, and behind each batch of them the position that they belong to.
/// What follows the last position counts for nothing. Touched by one task at a time, hence sendable.
final class VerifyJournal: @unchecked Sendable {
  struct Position: Sendable, Hashable {
    /// The plan's row that was compared last.
    var last: Int64 = 0
    var totals = VerifyTotals()
    /// Where the sample's draw stands.
    var passed = 0
    var drawn = 0
    /// Files behind it that have been read in part.
    var reads: [OpenRead] = []
  }

  static let name = "verify.jsonl"
  private static let block = 64 << 10

  private let path: String
  private let descriptor: Int32
  /// Bytes up to the last position.
  private var length: Int64 = 0
  private var unwritten: [UInt8] = []
  private(set) var position = Position()
  /// The numbers that the verification began with: the seed of its sample, and of how many it is drawn.
  private(set) var seed: UInt64 = 0
  private(set) var total = 0

  /// Takes up what a stopped verification of the same question left, else begins anew.
  ///
  /// - Parameter total: how many transfers a sample is drawn from; asked for where it begins anew.
  /// - Throws: `End`: with 76 where another process has it.
  init(in folder: String, question: JSON, total count: () throws -> Int) throws {
    path = folder + "/" + Self.name
    descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw End(.cannotCreate, "`\(path)` can't be opened: \(SystemError())")
    }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      throw End(
        .alreadyRunning, "another `haul verify` of this job is running", hint: "wait for its end, or stop it")
    }
    if let head = try read(), head["question"] == question, let bits = head["seed"].int64 {
      (seed, total) = (UInt64(bitPattern: bits), Int(clamping: head["total"].int64 ?? 0))
      guard ftruncate(descriptor, off_t(length)) == 0 else { throw unwritable(SystemError()) }
      return
    }
    (length, position) = (0, Position())
    seed = .random(in: .min ... .max)
    total = try count()
    guard ftruncate(descriptor, 0) == 0 else { throw unwritable(SystemError()) }
    add(["question": question, "seed": .integer(Int64(bitPattern: seed)), "total": .int(total)])
    try flush()
  }

  deinit { close(descriptor) }

  func add(_ finding: VerifyFinding) { add(finding.json) }

  /// Makes the findings so far, and how far that is, outlive this process.
  func record(_ now: Position) throws {
    position = now
    add([
      "last": .integer(now.last), "totals": now.totals.json, "passed": .int(now.passed),
      "drawn": .int(now.drawn), "reads": .array(now.reads.map(\.json)),
    ])
    try flush()
  }

  /// Gives the recorded findings in order.
  func each(_ body: (VerifyFinding) throws -> Void) throws {
    try lines { line, _ in
      if let finding = VerifyFinding(line) { try body(finding) }
    }
  }

  /// The verification has come to its end.
  func remove() { unlink(path) }

  /// Reads the file up to its last position.
  ///
  /// - Returns: its first line.
  private func read() throws -> JSON? {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw unwritable(SystemError()) }
    length = Int64(status.st_size)
    var (head, end): (JSON?, Int64) = (nil, 0)
    try lines { line, next in
      if head == nil {
        (head, end) = (line, next)
      } else if let last = line["last"].int64, let totals = VerifyTotals(line["totals"]) {
        position = Position(
          last: last, totals: totals, passed: Int(clamping: line["passed"].int64 ?? 0),
          drawn: Int(clamping: line["drawn"].int64 ?? 0),
          reads: (line["reads"].array ?? []).compactMap { OpenRead($0) })
        end = next
      }
    }
    length = end
    return head
  }

  /// Gives each whole line up to `length`, and where the next one begins; ends at what is no JSON.
  private func lines(_ body: (JSON, Int64) throws -> Void) throws {
    var (offset, line): (Int64, [UInt8]) = (0, [])
    var buffer = [UInt8](repeating: 0, count: Self.block)
    while offset < length {
      let wanted = Int(min(Int64(Self.block), length - offset))
      let count = pread(descriptor, &buffer, wanted, off_t(offset))
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw unwritable(SystemError()) }
      guard count > 0 else { return }
      for byte in buffer[..<count] {
        offset += 1
        guard byte == UInt8(ascii: "\n") else {
          line.append(byte)
          continue
        }
        guard let json = JSON(line) else { return }
        line.removeAll(keepingCapacity: true)
        try body(json, offset)
      }
    }
  }

  private func add(_ json: JSON) {
    json.write(to: &unwritten)
    unwritten.append(UInt8(ascii: "\n"))
  }

  private func flush() throws {
    var done = 0
    while done < unwritten.count {
      let count = unwritten.withUnsafeBytes { bytes in
        pwrite(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done, off_t(length) + done)
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw unwritable(SystemError()) }
      done += count
    }
    length += Int64(done)
    unwritten.removeAll(keepingCapacity: true)
  }

  private func unwritable(_ error: SystemError) -> End {
    End(.cannotCreate, "`\(path)` can't be written: \(error)")
  }
}
