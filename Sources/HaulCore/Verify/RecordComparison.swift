import Endpoints
import JobModel
import Reporting

/// Decides what a transfer's record says of what is there now: tells equal from different, and neither from unknown.
struct RecordComparison {
  let progress: TransferProgress

  private var size: Int64? { progress.size ?? progress.destination?.size ?? progress.remote.size }

  /// The digest that tells most; nil where none is on record.
  var digest: (algorithm: DigestAlgorithm, value: String)? {
    let order: [DigestAlgorithm] = [.sha256, .sha512, .sha1, .md5, .crc64nvme, .crc32c, .crc32]
    return order.lazy.compactMap { algorithm in progress.digests[algorithm].map { (algorithm, $0) } }.first
  }

  var missing: Comparison {
    .different(check: "missing", expected: size.map { "\($0) bytes" } ?? "a file", actual: nil)
  }

  /// What size and times of a download's file tell.
  ///
  /// - Parameter present: nil where there is none.
  /// - Returns: nil where its bytes have to be read.
  func file(_ present: FileFacts?) -> Comparison? {
    guard let present else { return missing }
    if let different = compare(size: present.size) { return different }
    guard digest == nil else { return nil }
    // Without a digest a new time is all that shows that somebody wrote to it.
    guard let recorded = progress.destination, recorded.mtime != present.mtime else {
      return .unverifiable(.noDigest)
    }
    return .different(
      check: "mtime", expected: Timestamp.text(Double(recorded.mtime) / 1e9),
      actual: Timestamp.text(Double(present.mtime) / 1e9))
  }

  /// What a digest of the bytes tells.
  func bytes(_ found: String, _ algorithm: DigestAlgorithm) -> Comparison {
    guard let recorded = progress.digests[algorithm] else { return .unverifiable(.noDigest) }
    return found == recorded
      ? .verified : .different(check: algorithm.rawValue, expected: recorded, actual: found)
  }

  /// What a server tells of an uploaded file.
  ///
  /// - Parameters:
  ///   - echoes: digests that the server may only repeat: another one is a difference, the same one no proof.
  ///   - etagsMayBeMD5: an MD5 may be an ETag that was made in another way.
  func object(_ seen: RemoteObject, echoes: Set<DigestAlgorithm>, etagsMayBeMD5: Bool) -> Comparison {
    if let theirs = seen.size, let different = compare(size: theirs) { return different }
    let known = progress.remote
    let isSameTag = tags(known.etag, seen.etag)
    var isProved = false
    for algorithm in DigestAlgorithm.allCases {
      guard let mine = progress.digests[algorithm], let theirs = seen.digests[algorithm] else { continue }
      if mine == theirs {
        isProved = isProved || !echoes.contains(algorithm)
      } else if algorithm != .md5 || !etagsMayBeMD5 || isSameTag == nil {
        return .different(check: algorithm.rawValue, expected: mine, actual: theirs)
      }
    }
    if isProved { return .verified }
    // A tag or a version says that what stands there was not replaced since; what it was a digest showed then, or nothing did.
    let wasCompared = progress.verification.contains { $0.proves && $0.against == .server }
    let unchanged: Comparison = wasCompared ? .verified : .unverifiable(.neverCompared)
    if let isSameTag {
      return isSameTag ? unchanged : .different(check: "etag", expected: known.etag, actual: seen.etag)
    }
    if let mine = known.version, let theirs = seen.version {
      return mine == theirs ? unchanged : .different(check: "version", expected: mine, actual: theirs)
    }
    return .unverifiable(seen.size == nil ? .notTold : .sizeOnly)
  }

  private func compare(size theirs: Int64) -> Comparison? {
    guard let size, size != theirs else { return nil }
    return .different(check: "size", expected: String(size), actual: String(theirs))
  }

  /// Whether two entity tags are the same but for their strength; nil where one is missing.
  private func tags(_ one: String?, _ other: String?) -> Bool? {
    guard let one, let other else { return nil }
    return ETag.bare(one) == ETag.bare(other)
  }
}
