import Endpoints
import JobModel

/// Judging an answer by its head, before a byte of it is used.
extension Download {
  /// Judges the head; says where the body goes.
  ///
  /// - Parameter mayHold: the bytes need not be read again before the file has passed its checks.
  func accept(
    _ head: AnswerHead, wanted: Range<Int64>?, url: WebURL, mayHold: Bool
  ) throws -> BodyPlace {
    let now = context.clock.now()
    let seen = remote.facts(head, now: now)
    switch remote.judge(head, wanted: wanted, object: object, seen: seen, now: now) {
    case .refused where head.status == 416 && wanted?.lowerBound == 0 && object.size == nil:
      // Nothing to take a range of, or no ranges at all: the whole answer tells which.
      throw noRanges(url)
    case .refused(let failure):
      // Its text is read for the message; ranges that make no sense end the request here.
      if head.status < 300 || failure.code == .rangeInvalid { throw failure }
      return .text
    case .changed(let seen):
      if object.hasStrongETag, seen.etag == object.etag, !hasDoubtedSize {
        // One version with two sizes: most likely a wrong header, so it is asked once more before it is believed.
        hasDoubtedSize = true
        throw Failure(
          .rangeInvalid, "\(url) tells another size than before under the same ETag", httpStatus: head.status,
          expected: object.size.map(String.init), actual: seen.size.map(String.init))
      }
      throw changed(seen)
    case .nothing(let size):
      guard size == 0 else {
        throw Failure(
          .rangeInvalid, "\(url): nothing behind byte \(size), where more was asked for", httpStatus: 416)
      }
      var empty = seen
      empty.size = 0
      try learn(empty)
      return .text
    case .bytes(let range):
      guard seen.size != nil || object.size != nil else { throw noRanges(url) }
      try learn(seen)
      return .file(try body(range.lowerBound, range.upperBound, mayHold))
    case .whole(let length):
      if wanted != nil, map.have.total > 0 || (wanted?.lowerBound ?? 0) > 0 { throw noRanges(url) }
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
      return .file(try body(0, end, mayHold))
    }
  }

  private func noRanges(_ url: WebURL) -> Failure {
    Failure(.rangeInvalid, "\(url) does not serve ranges", class: .rangesUnserved)
  }

  /// What was recorded belongs to another object than the one that was seen now.
  func changed(_ seen: RemoteObject) -> Failure {
    Failure(
      .remoteChanged, "\(remote.url) changed while it was read", class: .objectChanged, expected: object.etag,
      actual: seen.etag)
  }

  /// Takes in what an answer says of the object; refuses early what can't come out right.
  func learn(_ told: RemoteObject) throws {
    let seen = told.without(context.mask)
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
          .lengthMismatch, "\(remote.url) has \(size) bytes, \(wanted) are expected",
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
    if known == RemoteObject(), !remote.promisedDigests.isEmpty, object.digests.isEmpty,
      expect.digests.isEmpty
    {
      book.warn("the server gives no digest of this file: only its size can be checked")
    }
    if settings.verify == .required, expect.digests.isEmpty, object.digests.isEmpty {
      throw Failure(
        .digestUnavailable, "neither the manifest nor \(remote.url) gives a digest to verify against")
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
