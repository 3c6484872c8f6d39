import Admission
import Digests
import JobModel
import LocalFiles

/// A copy's chunk whose bytes are here, until the sink has them.
struct BufferedChunk {
  let start: Int64
  let loan: BufferBudget.Loan
  /// While others may wait for the loan, this transfer waits for no permit.
  let holding: SharedBuffers.Holding?

  func has(_ range: Range<Int64>) -> Bool {
    start <= range.lowerBound && range.upperBound <= start + Int64(loan.bytes.count)
  }

  nonisolated(nonsending) func digests(
    of range: Range<Int64>, _ algorithms: [DigestAlgorithm], on pool: BlockingPool
  ) async throws -> [DigestAlgorithm: String] {
    let (loan, part) = (loan, Int(range.lowerBound - start)..<Int(range.upperBound - start))
    return try await pool.run {
      let digests = try DigestSet(Set(algorithms.map(\.kind)))
      loan.bytes.withUnsafeBytes { digests.update(.init(rebasing: $0[part])) }
      return DigestAlgorithm.named(digests.finish())
    }
  }
}
