import Endpoints
import JobModel

/// Judging an answer by its head, before a byte of it is used.
extension Download {
  /// Judges the opening; says where the bytes go.
  ///
  /// - Parameter mayHold: the bytes need not be read again before the file has passed its checks.
  /// - Returns: nil where none come.
  func accept(_ opening: Opening, wanted: Range<Int64>?, mayHold: Bool) throws -> FileBody? {
    let seen = opening.seen
    guard opening.extent != .changed, object.isSameVersion(as: seen) else {
      guard object.hasStrongETag, seen.etag == object.etag, !hasDoubtedSize else { throw changed(seen) }
      // One version with two sizes: most likely a wrong header, so it is asked once more before it is believed.
      hasDoubtedSize = true
      throw Failure(
        .rangeInvalid, "\(source.place) tells another size than before under the same ETag",
        expected: object.size.map(String.init), actual: seen.size.map(String.init))
    }
    switch opening.extent {
    case .changed: return nil
    case .nothing:
      try learn(seen)
      return nil
    case .bytes(let range):
      guard seen.size != nil || object.size != nil else { throw noRanges }
      try learn(seen)
      return try body(range.lowerBound, range.upperBound, mayHold)
    case .whole(let length):
      if wanted != nil, map.have.total > 0 || (wanted?.lowerBound ?? 0) > 0 { throw noRanges }
      if wanted != nil {
        isSingleStream = true
        object.servesRanges = false
        // A file of one chunk has nothing to be resumed from.
        if length ?? object.size ?? .max > chunkSize {
          book.warn("the server answers a range with everything: one stream, which can't be resumed")
        }
      }
      var whole = seen
      whole.servesRanges = wanted == nil ? object.servesRanges : false
      try learn(whole)
      let end = length ?? object.size ?? .max
      return try body(0, end, mayHold)
    }
  }

  private var noRanges: Failure {
    Failure(.rangeInvalid, "\(source.place) does not serve ranges", class: .rangesUnserved)
  }

  /// What was recorded belongs to another object than the one that was seen now.
  func changed(_ seen: RemoteObject) -> Failure {
    Failure(
      .remoteChanged, "\(source.place) changed while it was read", class: .objectChanged,
      expected: object.etag,
      actual: seen.etag)
  }

  /// Takes in what an answer says of the object; refuses early what can't come out right.
  func learn(_ seen: RemoteObject) throws {
    let isNew = object == RemoteObject() || book.progress.remote != object
    let known = object
    object.size = seen.size ?? object.size
    object.etag = seen.etag ?? object.etag
    if seen.lastModified != nil {
      object.lastModified = seen.lastModified
      object.lastModifiedIsStrong = known.lastModifiedIsStrong || seen.lastModifiedIsStrong
    }
    object.contentType = seen.contentType ?? object.contentType
    object.contentEncoding = seen.contentEncoding ?? object.contentEncoding
    object.version = seen.version ?? object.version
    object.fileName = seen.fileName ?? object.fileName
    object.servesRanges = seen.servesRanges ?? object.servesRanges
    object.facts.merge(seen.facts) { _, new in new }
    object.digests.merge(seen.digests) { old, _ in old }
    guard isNew || object != known else { return }
    if let size = object.size {
      if let wanted = expect.size, wanted != size {
        throw Failure(
          .lengthMismatch, "\(source.place) has \(size) bytes, \(wanted) are expected",
          expected: String(wanted),
          actual: String(size))
      }
      live.setSize(size)
      fixChunkSize(size)
      let layout = ChunkLayout(size: size, chunkSize: chunkSize)
      book.note(.laidOut(chunks: layout.count))
      book.note(.sized(size))
    }
    if let coding = object.contentEncoding, known.contentEncoding == nil {
      book.warn(
        "the server sends the file with Content-Encoding `\(coding)`; its bytes are kept as they come")
    }
    if known == RemoteObject(), !source.promisedDigests.isEmpty, object.digests.isEmpty,
      expect.digests.isEmpty
    {
      book.warn("the server gives no digest of this file: only its size can be checked")
    }
    if settings.verify == .required, expect.digests.isEmpty, object.digests.isEmpty {
      throw Failure(
        .digestUnavailable, "neither the manifest nor \(source.place) gives a digest to verify against")
    }
    book.note(.learned(object))
    // What comes in one chunk leaves no record that would need this one.
    if book.progress.chunksTotal != 1 { book.save() }
  }

  /// What `auto` comes to is chosen anew where nothing is kept that came in other chunks.
  func fixChunkSize(_ size: Int64) {
    guard settings.chunkSize == .auto, book.progress.automaticChunk == nil || map.have.total == 0 else {
      return
    }
    book.note(.chosen(chunk: settings.chunkSize.bytes(of: size, chosen: nil, rate: rate)))
  }
}
