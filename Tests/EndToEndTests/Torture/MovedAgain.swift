import TestSupport

/// Bytes that crossed the network again, read off depot's access log: of each request, what earlier ones had moved.
///
/// A request that was under way when depot itself was killed has no line; what of it was lost, haul tells as discarded.
struct MovedAgain {
  private var covered: [String: [Range<Int64>]] = [:]
  private(set) var bytes: Int64 = 0
  /// Of each stretch between two kills.
  private(set) var stretches: [Int64] = []

  mutating func take(_ visits: ArraySlice<Visit>) {
    let before = bytes
    for visit in visits {
      guard let (file, range) = Self.moved(visit) else { continue }
      let known = covered[file, default: []]
      bytes += known.reduce(0) { $0 + Int64($1.clamped(to: range).count) }
      covered[file] = Self.joined(known + [range])
    }
    stretches.append(bytes - before)
  }

  /// The file and the part of it that a request moved; nil for others.
  private static func moved(_ visit: Visit) -> (String, Range<Int64>)? {
    if visit.isDownload, visit.status == 200 || visit.status == 206, visit.sent > 0 {
      let first = visit.status == 206 ? visit.offset ?? 0 : 0
      return (visit.path, first..<(first + visit.sent))
    }
    // Uploads have different sizes, and a session's id says nothing of its file.
    guard visit.isChunk, visit.received > 0, let first = visit.offset,
      let total = visit.line["content_range"].string?.split(separator: "/").last
    else { return nil }
    return ("upload of \(total)", first..<(first + visit.received))
  }

  private static func joined(_ ranges: [Range<Int64>]) -> [Range<Int64>] {
    ranges.sorted { $0.lowerBound < $1.lowerBound }.reduce(into: []) { joined, range in
      if let last = joined.last, last.upperBound >= range.lowerBound {
        joined[joined.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
      } else {
        joined.append(range)
      }
    }
  }
}
