import Digests
import Endpoints
import JobModel
import LocalFiles

/// A body that counts what goes out.
protocol SentBody: ByteReader {
  /// Bytes that were written to the network; while a request runs, those that were given to it.
  var sent: Int64 { get }
  /// The digest that is kept of what was given, once that is all of it.
  var hashed: String? { get }
}

/// A chunk's bytes as a request's body: from memory where the budget had room, else read from the file a second
/// time, and then hashed again, so that a source that changed in between can't pass.
///
/// Used on the transport's executor alone, hence sendable to it.
final class ChunkBody: SentBody, @unchecked Sendable {
  /// nil where the bytes are all in the loan.
  private let file: OpenFile?
  private let range: Range<Int64>
  /// Holds the chunk; nil where it is read again.
  private let loan: BufferBudget.Loan?
  /// Whose byte of the whole the loan begins with.
  private let start: Int64
  private let expected: (kind: DigestKind, hex: String)?
  /// The digest that goes into the record, where none goes before the body.
  private let kept: DigestKind?
  private var digest: StreamingDigest?
  /// The digest that is kept of what was given, once that is all of it; the source may hold other bytes by then.
  private(set) var hashed: String?
  private var offset: Int64 = 0
  private let moved: (Int) -> Void
  /// The server can be asked whether the chunk arrived.
  private let canAsk: Bool
  /// Bytes that were written to the network; while a request runs, those that were given to it.
  private(set) var sent: Int64 = 0
  /// Given to the request that runs.
  private var given: Int64 = 0

  init(
    file: OpenFile?, range: Range<Int64>, loan: BufferBudget.Loan?, start: Int64? = nil,
    proof: (kind: DigestKind, hex: String)?,
    keeping kept: DigestKind? = nil, canAsk: Bool = false,
    moved: @escaping (Int) -> Void
  ) throws {
    self.file = file
    self.range = range
    self.loan = loan
    self.start = start ?? range.lowerBound
    self.moved = moved
    self.canAsk = canAsk
    expected = loan == nil ? proof : nil
    self.kept = kept
    digest = try (expected?.kind ?? kept).map { try StreamingDigest($0) }
  }

  var length: Int64 { Int64(range.count) }

  func read(into target: UnsafeMutableRawBufferPointer) throws -> Int {
    let want = Int(min(Int64(target.count), length - offset))
    guard want > 0 else { return 0 }
    if let loan {
      loan.bytes.withUnsafeBytes { bytes in
        let first = Int(range.lowerBound - start + offset)
        target.copyMemory(from: .init(rebasing: bytes[first..<first + want]))
      }
    } else if let file {
      let count = try file.read(into: .init(rebasing: target[..<want]), at: range.lowerBound + offset)
      guard count == want else { throw changed("ended early") }
      digest?.update(UnsafeRawBufferPointer(rebasing: target[..<want]))
    }
    offset += Int64(want)
    // The last bytes are held back until the whole chunk is known to be what its hash says.
    if offset == length, let digest {
      let found = digest.finishHex()
      if let expected {
        guard found == expected.hex else { throw changed("has other bytes") }
      } else {
        hashed = found
      }
    }
    sent += Int64(want)
    given += Int64(want)
    moved(want)
    return want
  }

  var mayBeRepeated: Bool { !canAsk || offset < length }

  func rewind() throws {
    offset = 0
    digest = try (expected?.kind ?? kept).map { try StreamingDigest($0) }
  }

  func settle(sent settled: Int64) {
    sent += settled - given
    moved(Int(settled - given))
    given = 0
  }

  private func changed(_ what: String) -> Failure {
    Failure(.sourceChanged, "`\(file?.path ?? "?")` changed while it was sent: a chunk \(what)")
  }
}
