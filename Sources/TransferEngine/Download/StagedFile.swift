import Digests
import JobModel
import LocalFiles

/// Where a download's bytes are until they have passed their checks, and what hashes them on the way there.
///
/// A small file that comes in one piece lies in memory and is hashed as it passes; all others lie in the part file, with a
/// digest that trails the writing. Who fetches need not know which.
struct StagedFile {
  private enum Home {
    case nowhere
    case memory(HeldFile)
    case part(PartFile)
  }

  private enum Hashing {
    case none
    case passing(InlineDigest)
    case trailing(TrailingDigest)
  }

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

  private var home = Home.nowhere
  private var hashing = Hashing.none
  /// The kernel was told to begin writing the part file.
  private(set) var isBeingWritten = false

  var part: PartFile? { if case .part(let part) = home { part } else { nil } }
  var held: HeldFile? { if case .memory(let held) = home { held } else { nil } }
  var isEmpty: Bool { if case .nowhere = home { true } else { false } }

  /// Nothing is there that bytes from byte 0 on would have to fit to.
  var isUntouched: Bool {
    switch (home, hashing) {
    case (.nowhere, .none), (.nowhere, .passing): true
    case (.nowhere, .trailing), (.memory, _), (.part, _): false
    }
  }

  /// All of the file passes through memory and its digest.
  var isPassing: Bool {
    switch (home, hashing) {
    case (.memory, .passing): true
    case (.memory, .none), (.memory, .trailing), (.nowhere, _), (.part, _): false
    }
  }

  /// Goes on with what an earlier attempt left.
  mutating func resume(_ part: PartFile) { home = .part(part) }

  /// Stages a small file of this size in memory.
  mutating func hold(size: Int64, _ kinds: Set<DigestKind>) throws {
    hashing = .passing(try InlineDigest(kinds))
    home = .memory(HeldFile(size: size))
  }

  /// The part file with its space reserved and its digest begun; what was held is written to it.
  ///
  /// - Parameter make: makes the file where there is none.
  mutating func open(
    _ plan: Plan, pool: BlockingPool, blocks: BlockPool, making make: () throws -> PartFile
  ) throws -> PartFile {
    if case .part(let part) = home {
      switch hashing {
      case .passing, .trailing: return part
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
      home = .part(part)
    }
    guard let part else { throw Failure(.internal, "no part file was made") }
    if let size = plan.size { try part.preallocate(size) } else { try part.truncate(0) }
    if plan.isOnePiece {
      hashing = .passing(try InlineDigest(plan.kinds))
    } else {
      let trailing = try TrailingDigest(plan.kinds, of: part.file, pool: pool, blocks: blocks)
      trailing.advance(to: plan.contiguous)
      hashing = .trailing(trailing)
    }
    return part
  }

  /// What takes an answer's bytes; nil where nothing does yet.
  var target: BodyTarget? {
    switch home {
    case .nowhere: nil
    case .memory(let held): .held(held)
    case .part(let part): .part(part)
    }
  }

  /// What hashes an answer's bytes.
  var digest: BodyDigest {
    switch hashing {
    case .none: .none
    case .passing(let digest): .inline(digest)
    case .trailing(let digest): .trailing(digest)
    }
  }

  /// A chunk is written, and all bytes before `contiguous` are.
  mutating func wrote(_ range: Range<Int64>, contiguous: Int64, _ writeback: Writeback) {
    if case .trailing(let digest) = hashing { digest.advance(to: contiguous) }
    if case .part(let part) = home, writeback.begin(range, of: part.file) { isBeingWritten = true }
  }

  /// An answer broke off: what has seen bytes that will come again is of no use.
  ///
  /// - Parameters:
  ///   - pending: a trailing digest has seen some.
  ///   - isEmpty: nothing of the file is kept.
  mutating func breakOff(hashed pending: Bool, isEmpty: Bool) {
    switch hashing {
    case .passing: hashing = .none
    case .trailing where pending: hashing = .none
    case .trailing, .none: break
    }
    if isEmpty { dropHeld() }
  }

  /// The digest has seen bytes that turned out to be wrong.
  mutating func forgetHash() {
    if case .trailing = hashing { hashing = .none }
  }

  /// All bytes will come again; the part file stays, to be written over.
  mutating func clear() {
    hashing = .none
    dropHeld()
  }

  /// What was only in memory is gone.
  mutating func dropHeld() {
    if case .memory = home { home = .nowhere }
  }

  /// Nothing of it is of use any more.
  mutating func discard() {
    part?.discard()
    self = StagedFile()
  }

  /// Bytes that are staged.
  func count() throws -> Int64 {
    switch home {
    case .nowhere: throw Failure(.internal, "there is nothing to verify")
    case .memory(let held): Int64(held.bytes.count)
    case .part(let part): try part.file.facts().size
    }
  }

  /// Reads what is staged, by offset and count.
  func reader() throws -> @Sendable (Int64, Int) throws -> [UInt8] {
    switch home {
    case .nowhere: throw Failure(.internal, "there is nothing to read")
    case .memory(let held): { Array(held.bytes.dropFirst(Int($0)).prefix($1)) }
    case .part(let part): { try part.file.bytes(at: $0, count: $1) }
    }
  }

  /// Takes out what finishes the digests of all `size` bytes.
  mutating func takeDigest(size: Int64) -> () async throws -> [DigestAlgorithm: String] {
    defer { hashing = .none }
    switch hashing {
    case .none: return { [:] }
    case .passing(let digest): return { DigestAlgorithm.named(digest.finish()) }
    case .trailing(let digest): return { DigestAlgorithm.named(try await digest.finish(size: size)) }
    }
  }

  /// What was held may have become a part file, or the finished one, also where something failed after that.
  ///
  /// - Returns: its inode.
  mutating func takeMade() -> UInt64? {
    guard case .memory(let held) = home, let made = held.made else { return nil }
    home = .part(made.part)
    return made.inode
  }

  /// The part file took its destination's name.
  mutating func promoted(inode: UInt64, _ writeback: Writeback) {
    if let part, isBeingWritten { writeback.keep(part.file, inode: inode) }
    self = StagedFile()
  }
}
