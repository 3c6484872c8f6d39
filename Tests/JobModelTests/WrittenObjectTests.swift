import Testing

@testable import JobModel

/// Whose an object is that stands at a destination.
struct WrittenObjectTests {
  private func seen(
    _ size: Int64?, etag: String? = nil, time: String? = nil, digests: [DigestAlgorithm: String] = [:]
  ) -> RemoteObject {
    var object = RemoteObject()
    (object.size, object.etag, object.lastModified, object.digests) = (size, etag, time, digests)
    return object
  }

  @Test func itIsKnownByWhatTheServerSaid() throws {
    let own = try #require(WrittenObject(size: 5, etag: "W/\"1\"", version: nil, digests: [.md5: "aa"]))
    for (object, isOwn) in [
      (seen(5, etag: "\"1\""), true), (seen(5, etag: "\"2\""), false), (seen(6, etag: "\"1\""), false),
      // A server may not tell the size.
      (seen(nil, etag: "\"1\""), true), (seen(nil), false), (seen(5), false),
      // The same bytes, whatever their tag is by now.
      (seen(5, etag: "\"2\"", digests: [.md5: "aa"]), true),
      (seen(5, etag: "\"1\"", digests: [.md5: "bb"]), false),
    ] { #expect(own.isSame(as: object) == isOwn, "\(object)") }
    #expect(WrittenObject(size: 5, etag: nil, version: nil, digests: [:]) == nil)
  }

  /// What was written outlives that its upload begins anew, until another is completed.
  @Test func itStaysOnRecord() throws {
    let own = try #require(WrittenObject(size: 5, etag: "\"1\"", version: nil, digests: [:]))
    var progress = TransferProgress()
    progress.apply(.wrote(own))
    progress.apply(.restarted(.contentChanged))
    #expect(WrittenObject(recordedIn: progress.remote) == own)
    progress.apply(.uploaded(remoteID: nil, version: nil, etag: "\"2\"", [:], nil))
    #expect(WrittenObject(recordedIn: progress.remote) == nil && progress.remote.etag == "\"2\"")
  }

  @Test func marksTellVersionsApart() {
    let known = seen(5, etag: "\"1\"", time: "t1")
    #expect(known.hasMark(of: seen(5, etag: "W/\"1\"", time: "t2")) == true)
    #expect(known.hasMark(of: seen(5, time: "t1")) == true && known.hasMark(of: seen(5, time: "t2")) == false)
    #expect(known.hasMark(of: seen(5)) == nil)
  }
}
