/// Finds the parts of a file that are not what its server has, by asking for digests of ever smaller ranges (RFC 9530,
/// Content-Digest).
struct DamageSearch {
  /// Bytes that are asked about at once: few questions, and none that a server has to hash for long.
  private static var widest: Int64 { 128 << 20 }
  /// Bytes that are not worth another question. Before a server hears that nobody reads its answer it has sent what
  /// sockets take: on Linux up to 4 MiB (tcp(7), tcp_wmem) and what the receiver's buffer holds.
  private static var narrowest: Int64 { 16 << 20 }

  /// What came of one question; `unknown` where the server gives no digest of the range.
  enum Match { case same, different, unknown }

  /// Ranges are of whole chunks, and not split below so many bytes.
  private let least: Int64

  init(chunkSize: Int64) { least = (Self.narrowest + chunkSize - 1) / chunkSize * chunkSize }

  /// Asking costs less than fetching everything again.
  func isWorthIt(for size: Int64) -> Bool { size >= 2 * least }

  /// The ranges that differ; nil where the server gives no digests of ranges.
  nonisolated(nonsending) func ranges(
    of size: Int64, compare: nonisolated(nonsending) (Range<Int64>) async throws -> Match
  ) async throws -> [Range<Int64>]? {
    let step = max(1, Self.widest / least) * least
    var found: [Range<Int64>] = []
    for start in stride(from: 0, to: size, by: Int(step)) {
      let range = start..<min(size, start + step)
      switch try await compare(range) {
      case .same: continue
      case .unknown where start == 0: return nil
      case .different, .unknown: found += try await parts(of: range, compare)
      }
    }
    return found
  }

  /// The parts of a range that differs.
  private nonisolated(nonsending) func parts(
    of range: Range<Int64>, _ compare: nonisolated(nonsending) (Range<Int64>) async throws -> Match
  ) async throws -> [Range<Int64>] {
    let count = (Int64(range.count) + least - 1) / least
    guard count > 1 else { return [range] }
    let middle = range.lowerBound + count / 2 * least
    let (lower, upper) = (range.lowerBound..<middle, middle..<range.upperBound)
    // Where the one is right, the other is wrong: no question is needed.
    if try await compare(lower) == .same { return try await parts(of: upper, compare) }
    let found = try await parts(of: lower, compare)
    if try await compare(upper) == .same { return found }
    return try await found + parts(of: upper, compare)
  }
}
