package import JobModel

/// How a protocol fetches one object. A value: requests out, meanings in, no I/O.
package protocol DownloadProtocol: Sendable {
  /// The URL of the bytes, for the report.
  var url: WebURL { get }
  /// The object's id in the report, where the protocol has one.
  var remoteID: String? { get }
  /// Asks for size, version and digest before the bytes; nil where the first range's answer tells them.
  func describe() -> Request?
  func described(_ answer: Answer, now: Double) -> Verdict<RemoteObject>
  /// Asks for the same without reading a byte, for `plan --probe` and to see whether the object changed.
  func probe() -> Request
  func probed(_ answer: Answer, now: Double) -> Verdict<RemoteObject>
  /// Asks for a range, or for everything where `range` is nil. `object` is what is known so far.
  func get(_ range: Range<Int64>?, of object: RemoteObject) -> Request
}
