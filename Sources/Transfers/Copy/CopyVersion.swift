import Digests
import JobModel

/// One version of a copy's source, told as the facts of a file: what an upload decides by these is decided by the version.
struct CopyVersion {
  let object: RemoteObject
  /// Names an attempt: where nothing tells versions apart, each attempt has its own.
  let attempt: String

  /// Any difference means another object.
  var facts: FileFacts {
    let digest = (try? Digest.bytes(of: Array(mark.utf8), .sha256)) ?? []
    let number = digest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } >> 1
    return FileFacts(
      size: object.size ?? 0, mtime: Int64(number), ctime: 0, inode: 1,
      fingerprint: Hex.encode(digest.prefix(16)))
  }

  /// A name of the content for a service that wants one: of the version, as the samples of imohash would have to be fetched.
  func contentName(_ id: String) throws -> String {
    String(try Digest.hex(of: Array((id + (facts.fingerprint ?? "")).utf8), .sha256).prefix(32))
  }

  /// What tells this version from others, the best mark first.
  private var mark: String {
    if let etag = object.etag {
      let opaque = etag.hasPrefix("W/") ? String(etag.dropFirst(2)) : etag
      return (object.version ?? "") + "\0" + opaque
    }
    if let version = object.version { return version }
    if let time = object.lastModified { return time }
    // Without any nothing tells whether it is still the same.
    guard !object.digests.isEmpty else { return attempt }
    return object.digests.map { "\($0.key)=\($0.value)" }.sorted().joined(separator: " ")
  }
}

extension RemoteObject {
  /// Ranges of it are of one object: a strong validator or a version goes with each. Ranges of all else may be of two.
  var isTied: Bool { rangeValidator != nil || version != nil }
}
