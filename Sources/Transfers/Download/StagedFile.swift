import Digests
import JobModel
import LocalFiles

/// Where a download's bytes are until they have passed their checks, and what hashes them on the way there.
///
/// A small file that comes in one piece lies in memory and is hashed as it passes; all others lie in the part file, with a
/// digest that trails the writing. Who fetches need not know which.
struct StagedFile {
  /// What the part file is opened for.
  struct Plan {
    var kinds: Set<DigestKind>
    /// Bytes; nil where the length is not known.
    var size: Int64?
    /// Bytes of the file system that are to stay free.
    var minFree: Int64
    /// Bytes from the file's beginning that are there.
    var contiguous: Int64
    /// It is small, and comes in one piece from byte 0.
    var isOnePiece: Bool
  }

  /// What takes an answer's bytes; nil where nothing does yet.
  private(set) var target: BodyTarget?
  /// What hashes an answer's bytes.
  private(set) var digest = BodyDigest.none
  /// The kernel was told to begin writing the part file.
  private(set) var isBeingWritten = false

  var part: PartFile? { if case .part(let part) = target { part } else { nil } }
  var held: InMemoryFile? { if case .held(let held) = target { held } else { nil } }
  var isEmpty: Bool { target == nil }

  /// Nothing is there that bytes from byte 0 on would have to fit to.
  var isUntouched: Bool {
    switch (target, digest) {
    case (nil, .none), (nil, .inline): true
    case (nil, .trailing), (.held, _), (.part, _): false
    }
  }

  /// All of the file passes through memory and its digest.
  var isPassing: Bool { if case (.held, .inline) = (target, digest) { true } else { false } }

  /// Goes on with what an earlier attempt left.
  mutating func resume(_ part: PartFile) { target = .part(part) }

  /// Stages a small file of this size in memory.
  mutating func hold(size: Int64, _ kinds: Set<DigestKind>) throws {
    digest = .inline(try DigestSet(kinds))
    target = .held(InMemoryFile(size: size))
  }

  /// The part file with its space reserved and its digest begun; what was held is written to it.
  ///
  /// - Parameter make: makes the file where there is none.
  mutating func open(
    _ plan: Plan, pool: BlockingPool, blocks: BlockPool, making make: () throws -> PartFile
  ) throws -> PartFile {
    if case .part(let part) = target {
      switch digest {
      case .inline, .trailing: return part
      case .none: try part.checkSpace(for: plan.size ?? 0, leaving: plan.minFree)
      }
    } else {
      let part = try make()
      do {
        try part.checkSpace(for: plan.size ?? 0, leaving: plan.minFree)
        try held?.write(to: part)
      } catch {
        part.discard()
        throw error
      }
      target = .part(part)
    }
    guard let part else { throw Failure(.internal, "no part file was made") }
    if let size = plan.size { try part.preallocate(size) } else { try part.truncate(0) }
    if plan.isOnePiece {
      digest = .inline(try DigestSet(plan.kinds))
    } else {
      let trailing = try IncrementalDigest(plan.kinds, of: part.file, pool: pool, blocks: blocks)
      trailing.advance(to: plan.contiguous)
      digest = .trailing(trailing)
    }
    return part
  }

  /// A chunk is written, and all bytes before `contiguous` are.
  mutating func wrote(_ range: Range<Int64>, contiguous: Int64, _ writeback: Writeback) {
    if case .trailing(let digest) = digest { digest.advance(to: contiguous) }
    if case .part(let part) = target, writeback.begin(range, of: part.file) { isBeingWritten = true }
  }

  /// An answer broke off: what has seen bytes that will come again is of no use.
  ///
  /// - Parameters:
  ///   - pending: a trailing digest has seen some.
  ///   - isEmpty: nothing of the file is kept.
  mutating func breakOff(hashed pending: Bool, isEmpty: Bool) {
    switch digest {
    case .inline: digest = .none
    case .trailing where pending: digest = .none
    case .trailing, .none: break
    }
    if isEmpty { dropHeld() }
  }

  /// The digest has seen bytes that turned out to be wrong.
  mutating func forgetHash() {
    if case .trailing = digest { digest = .none }
  }

  /// Other digests are wanted: they begin with the part file's first byte when it is opened next.
  mutating func hashAnew() {
    if part != nil { digest = .none }
  }

  /// All bytes will come again; the part file stays, to be written over.
  mutating func clear() {
    digest = .none
    dropHeld()
  }

  /// What was only in memory is gone.
  mutating func dropHeld() {
    if case .held = target { target = nil }
  }

  /// Nothing of it is of use any more.
  mutating func discard() {
    part?.discard()
    self = StagedFile()
  }

  /// Bytes that are staged.
  func count() throws -> Int64 {
    switch target {
    case nil: throw Failure(.internal, "there is nothing to verify")
    case .held(let held): Int64(held.bytes.count)
    case .part(let part): try part.file.facts().size
    }
  }

  /// Reads what is staged, by offset and count.
  func reader() throws -> @Sendable (Int64, Int) throws -> [UInt8] {
    switch target {
    case nil: throw Failure(.internal, "there is nothing to read")
    case .held(let held): { Array(held.bytes.dropFirst(Int($0)).prefix($1)) }
    case .part(let part): { try part.file.bytes(at: $0, count: $1) }
    }
  }

  /// Takes out what finishes the digests of all `size` bytes.
  mutating func takeDigest(size: Int64) -> () async throws -> [DigestAlgorithm: String] {
    defer { digest = .none }
    switch digest {
    case .none: return { [:] }
    case .inline(let digest): return { DigestAlgorithm.named(digest.finish()) }
    case .trailing(let digest): return { DigestAlgorithm.named(try await digest.finish(size: size)) }
    }
  }

  /// What was held may have become a part file, or the finished one, also where something failed after that.
  ///
  /// - Returns: its inode.
  mutating func takeMade() -> UInt64? {
    guard case .held(let held) = target, let made = held.made else { return nil }
    target = .part(made.part)
    return made.inode
  }

  /// The part file took its destination's name.
  mutating func promoted(inode: UInt64, _ writeback: Writeback) {
    if let part, isBeingWritten { writeback.keep(part.file, inode: inode) }
    self = StagedFile()
  }
}
