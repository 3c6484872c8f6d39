package import JobModel

/// How a protocol fetches one object. A value: requests out, meanings in, no I/O.
package protocol DownloadProtocol: RemoteProtocol, DownloadTraits {
  /// The object's id in the report, where the protocol has one.
  func remoteID(of object: RemoteObject) -> String?
  /// Asks for size, version and digest before the bytes; nil where the first range's answer tells them.
  ///
  /// - Parameter known: what is recorded; a version in it stays the one that is fetched.
  func describe(_ known: RemoteObject) -> Request?
  func described(_ response: Response, now: Double) -> Result<RemoteObject, Failure>
  /// Asks for the object's tags; nil where the kind has none.
  func askTags(of object: RemoteObject) -> Request?
  func tags(_ response: Response, now: Double) -> Result<[String: String], Failure>
  /// The object as it was first seen, to be fetched on although another has taken its name; nil where the server keeps no
  /// versions, or where it was tried.
  func pinned(_ object: RemoteObject) -> RemoteObject?
  /// Asks for the same without reading a byte, for `plan --probe` and to see whether the object changed.
  func probe() -> Request
  /// The same of a known object: of its version, where requests name that (`RemoteObject.isPinned`).
  func probe(of known: RemoteObject) -> Request
  func probed(_ response: Response, now: Double) -> Result<RemoteObject, Failure>
  /// Asks for a range, or for everything where `range` is nil. `object` is what is known so far.
  func get(_ range: Range<Int64>?, of object: RemoteObject) -> Request
  /// What the head of an answer to `get` says of the object.
  func facts(_ head: ResponseHead, now: Double) -> RemoteObject
  /// Judges the head of an answer to `get` before a byte of its body is used.
  func judge(
    _ head: ResponseHead, wanted: Range<Int64>?, object: RemoteObject, seen: RemoteObject, now: Double
  ) -> RangeResponse
}

extension DownloadProtocol {
  package func remoteID(of object: RemoteObject) -> String? { nil }
  package func question(after response: Response, to request: Request) -> Request? {
    guard request.method == "HEAD", [405, 501].contains(response.status) else { return nil }
    return RangeRequest.get(url, 0..<1, of: RemoteObject())
  }
  package func describe(_ known: RemoteObject) -> Request? { nil }
  package func probe(of known: RemoteObject) -> Request { probe() }
  package func pinned(_ object: RemoteObject) -> RemoteObject? { nil }
  package func askTags(of object: RemoteObject) -> Request? { nil }
  package func tags(_ response: Response, now: Double) -> Result<[String: String], Failure> { .success([:]) }
  package func described(_ response: Response, now: Double) -> Result<RemoteObject, Failure> {
    probed(response, now: now)
  }
  package func facts(_ head: ResponseHead, now: Double) -> RemoteObject { ObjectFacts.read(head, now: now) }
  package func judge(
    _ head: ResponseHead, wanted: Range<Int64>?, object: RemoteObject, seen: RemoteObject, now: Double
  ) -> RangeResponse {
    RangeResponse.judge(head, wanted: wanted, object: object, seen: seen, url: url, now: now)
  }
}
