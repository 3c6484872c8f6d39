import Digests
import JobModel
import Locks

/// How far the files have been read that are being compared, for the journal and for who watches.
final class OpenReads: Sendable {
  private struct State {
    /// By the plan's row.
    var reads: [Int64: OpenRead] = [:]
    var bytes: Int64 = 0
  }
  private let state = Locked(State())

  /// Takes up what a stopped verification left.
  func restore(_ reads: [OpenRead]) {
    state.withLock { state in
      for read in reads { state.reads[read.seq] = read }
    }
  }

  /// Where the reading of a file goes on; nil where it begins anew, also because the file is not as it was.
  func place(of seq: Int64, _ file: FileFacts) -> OpenRead? {
    state.withLock { state in
      guard let known = state.reads[seq] else { return nil }
      if known.file == file { return known }
      state.reads[seq] = nil
      return nil
    }
  }

  /// - Parameter read: nil where nothing can go on from here.
  func note(_ read: OpenRead?, bytes: Int) {
    state.withLock { state in
      state.bytes += Int64(bytes)
      if let read { state.reads[read.seq] = read }
    }
  }

  func end(_ seq: Int64) { state.withLock { $0.reads[seq] = nil } }

  /// Bytes that this process has read.
  var bytes: Int64 { state.withLock { $0.bytes } }

  var all: [OpenRead] { state.withLock { $0.reads.values.sorted { $0.seq < $1.seq } } }
}

/// A place in a file from which its comparison can go on.
struct OpenRead: Sendable, Hashable {
  /// The plan's row.
  let seq: Int64
  /// The file that it holds for.
  let file: FileFacts
  let state: ResumableSHA256.State

  init(seq: Int64, file: FileFacts, state: ResumableSHA256.State) {
    (self.seq, self.file, self.state) = (seq, file, state)
  }

  var json: JSON {
    [
      "seq": .integer(seq), "size": .integer(file.size), "mtime": .integer(file.mtime),
      "ctime": .integer(file.ctime), "inode": .string(String(file.inode)), "read": .integer(state.count),
      "sha256": .array(state.words.map { .integer(Int64($0)) }),
    ]
  }

  /// Reads what `json` wrote; nil for anything else.
  init?(_ json: JSON) {
    guard let seq = json["seq"].int64, let size = json["size"].int64, let mtime = json["mtime"].int64,
      let ctime = json["ctime"].int64, let inode = json["inode"].string.flatMap({ UInt64($0) }),
      let count = json["read"].int64, count <= size, let words = json["sha256"].array,
      let state = ResumableSHA256.State(
        count: count, words: words.compactMap { $0.int64.flatMap { UInt32(exactly: $0) } })
    else { return nil }
    self.init(seq: seq, file: FileFacts(size: size, mtime: mtime, ctime: ctime, inode: inode), state: state)
  }
}
