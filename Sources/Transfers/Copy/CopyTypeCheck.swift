import Digests
import JobModel

/// Checks the media type of a copy's source by its head and tail, which are read before a byte goes to the sink.
struct CopyTypeCheck {
  let reader: CopyReader

  private struct Missing: Error { let range: Range<Int64> }

  nonisolated(nonsending) func outcome(ofType type: String) async throws -> Digests.MediaTypeRule.Outcome {
    var known: [Int64: [UInt8]] = [:]
    while true {
      do {
        return try Digests.MediaTypeRule.check(type: type, size: reader.object.size ?? 0) { offset, count in
          for (start, bytes) in known
          where start <= offset && offset + Int64(count) <= start + Int64(bytes.count) {
            return Array(bytes[Int(offset - start)..<Int(offset - start) + count])
          }
          throw Missing(range: offset..<offset + Int64(count))
        }
      } catch let missing as Missing {
        known[missing.range.lowerBound] = try await bytes(missing.range)
      }
    }
  }

  private nonisolated(nonsending) func bytes(_ range: Range<Int64>) async throws -> [UInt8] {
    var bytes: [UInt8] = []
    do { try await reader.read(range) { bytes += $0 } } catch let failure as Failure
      where failure.class == .rangesUnserved
    {
      // One stream: all that lies before it comes too.
      bytes = []
      try await reader.read(0..<range.upperBound) { piece, offset in
        let wanted = (offset..<offset + Int64(piece.count)).clamped(to: range)
        guard !wanted.isEmpty else { return }
        bytes += piece[Int(wanted.lowerBound - offset)..<Int(wanted.upperBound - offset)]
      }
    }
    reader.scope.countUnsent(Int64(bytes.count))
    return bytes
  }
}
