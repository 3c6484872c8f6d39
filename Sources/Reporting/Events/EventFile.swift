import Glibc
package import JobModel

/// Opens an events file so that a run's events go on in it where they ended.
package enum EventFile {
  /// Opens a file for appending, mends a last line that a kill has torn, and finds the next event's number.
  ///
  /// - Parameters:
  ///   - run: the run's id.
  ///   - recorded: the number of its last event as far as the ledger knows: 0 for a new run.
  /// - Throws: `OutputFileError`.
  package static func open(
    _ path: String, run: String, recorded: Int
  ) throws(OutputFileError) -> (descriptor: Int32, firstSeq: Int) {
    // A pipe can't be opened for reading too without hiding that nobody reads it.
    var facts = stat()
    let isSpecial = stat(path, &facts) == 0 && facts.st_mode & S_IFMT != S_IFREG
    let access = isSpecial ? O_WRONLY : O_RDWR
    let descriptor = try Descriptor.open(path, access | O_APPEND | O_CREAT)
    guard !isSpecial else { return (descriptor, recorded + 1) }
    do throws(OutputFileError) {
      let last = try lastSeq(descriptor, run: run, path: path)
      return (descriptor, (last ?? recorded) + 1)
    } catch {
      close(descriptor)
      throw error
    }
  }

  /// The number of the last event of this run in the file that standard output goes to; nil where it goes elsewhere.
  package static func lastSeq(ofOutput descriptor: Int32, run: String) -> Int? {
    var facts = stat()
    guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else { return nil }
    let path = "/proc/self/fd/\(descriptor)"
    let file = Glibc.open(path, O_RDWR | O_APPEND | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    return (try? lastSeq(file, run: run, path: path)) ?? nil
  }

  /// What the last events of a run say in a file.
  package struct Tail: Sendable {
    /// The last event's time, seconds since 1970.
    package var at: Double
    /// Words of the last states that transfers are said to have come to, by their ids.
    package var states: [ByteText: String]

    /// How far it reaches back, seconds. What stands on record as ended at a moment is told a little later.
    package static let reach = 5.0
  }

  /// The most that is read of a file's end.
  private static let mostOfTail: off_t = 1 << 24

  /// How a run's events end in a file; nil where its last line is none of them.
  package static func tail(of path: String, run: String) -> Tail? {
    var facts = stat()
    guard stat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else { return nil }
    let file = Glibc.open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    let size = lseek(file, 0, SEEK_END)
    var window: off_t = 1 << 16
    while true {
      let start = max(0, size - window)
      guard let bytes = try? read(file, start..<size, path: path) else { return nil }
      // The first line may have begun before.
      let lines = bytes.split(separator: UInt8(ascii: "\n")).dropFirst(start > 0 ? 1 : 0)
      var tail: Tail?
      var isWhole = start == 0 || window >= mostOfTail
      for line in lines.reversed() {
        guard let event = JSON(Array(line)), event["run"].string == run,
          let at = event["at"].string.flatMap(Timestamp.seconds), at >= (tail?.at ?? at) - Tail.reach
        else {
          isWhole = true
          break
        }
        if tail == nil { tail = Tail(at: at, states: [:]) }
        guard event["event"].string == "transfer_state", let id = event["id"].string,
          let state = event["to"].string, tail?.states[ByteText(id)] == nil
        else { continue }
        tail?.states[ByteText(id)] = state
      }
      if isWhole { return tail }
      window *= 4
    }
  }

  /// The number of the last complete line, if it is of this run.
  private static func lastSeq(
    _ descriptor: Int32, run: String, path: String
  ) throws(OutputFileError) -> Int? {
    let size = lseek(descriptor, 0, SEEK_END)
    guard size >= 0 else { throw OutputFileError(path, errno: errno) }
    var window: off_t = 1 << 14
    while true {
      let start = max(0, size - window)
      let bytes = try read(descriptor, start..<size, path: path)
      let newline = UInt8(ascii: "\n")
      let end = bytes.lastIndex(of: newline).map { $0 + 1 } ?? 0
      let before = end > 0 ? bytes[..<(end - 1)].lastIndex(of: newline) : nil
      // The whole last line must be in sight, or the file's beginning.
      if start > 0, before == nil {
        window *= 4
        continue
      }
      try mend(descriptor, tail: bytes[end...], at: start + off_t(end), path: path)
      let line = bytes[(before.map { $0 + 1 } ?? 0)..<end]
      return seq(Array(line), run: run)
    }
  }

  /// Cuts off what is left of a line of ours; a foreign file without a last newline gets one.
  private static func mend(
    _ descriptor: Int32, tail: ArraySlice<UInt8>, at offset: off_t, path: String
  ) throws(OutputFileError) {
    guard !tail.isEmpty else { return }
    let ours = Array("{\"schema\":\"haul.event/v1\"".utf8)
    let isTorn = zip(tail, ours).allSatisfy { $0 == $1 } || tail.allSatisfy { $0 == 0 }
    if isTorn {
      guard ftruncate(descriptor, offset) == 0 else { throw OutputFileError(path, errno: errno) }
    } else {
      let newline: [UInt8] = [UInt8(ascii: "\n")]
      guard Glibc.write(descriptor, newline, 1) == 1 else { throw OutputFileError(path, errno: errno) }
    }
  }

  private static func seq(_ line: [UInt8], run: String) -> Int? {
    guard let event = JSON(line), event["run"].string == run else { return nil }
    return event["seq"].int64.map { Int($0) }
  }

  private static func read(
    _ descriptor: Int32, _ range: Range<off_t>, path: String
  ) throws(OutputFileError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: Int(range.upperBound - range.lowerBound))
    var done = 0
    while done < bytes.count {
      let offset = range.lowerBound + off_t(done)
      let count = bytes.withUnsafeMutableBytes { buffer in
        pread(descriptor, buffer.baseAddress.map { $0 + done }, buffer.count - done, offset)
      }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw OutputFileError(path, errno: errno) }
      // Somebody made it shorter meanwhile.
      if count == 0 { return Array(bytes[..<done]) }
      done += count
    }
    return bytes
  }
}
