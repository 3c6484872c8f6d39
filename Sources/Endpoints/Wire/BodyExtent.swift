/// What part of an object an answer's body is (RFC 9110, 14.4).
extension ResponseHead {
  /// The Content-Range; nil where there is none, or an invalid one.
  package var contentRange: ContentRange? { headers["Content-Range"].flatMap(ContentRange.init) }

  /// The body is all bytes of the object, also where a range was asked for: what is told of the part is told of the whole.
  package var spansWhole: Bool { carriesWhole || status == 206 && contentRange?.isWhole == true }

  /// The body is the whole object. A Content-Range counts under 200 too: some servers answer ranges so.
  package var carriesWhole: Bool {
    guard status == 200 else { return false }
    guard headers["Content-Range"] != nil else { return true }
    guard let told = contentRange, let total = told.total else { return false }
    if let range = told.range { return range == 0..<total }
    return headers["Content-Length"].flatMap { ByteCount.read($0) } == total
  }
}
