import Endpoints
import HTTPClient
import JobModel

/// What stands at an upload's destination, and whether it is the file that is uploaded.
struct DestinationLook {
  let scope: UploadScope
  let source: SendingSource

  /// What stands there before a byte is sent, where that is worth a request; nil where it is not, or nobody knows.
  nonisolated(nonsending) func first() async throws -> FoundFile? {
    let (sink, adoptions) = (scope.sink, scope.context.uploads.adoptions)
    if scope.settings.ifExists != .replace || source.abilities.provesWholeFile {
      if let found = try await listed() { return found }
      do { return try await sink.look(.retried) } catch let failure as Failure
        where failure.httpStatus == 500 && scope.settings.ifExists == .replace
      {
        // Only an offer, and a server that knows files by their ids alone may fail at a name.
        return nil
      }
    }
    guard scope.traits.mayTellDigests, adoptions.isWorthAsking(sink.origin, size: source.request.size) else {
      return nil
    }
    // Only an offer: what fails here is no reason not to send the file.
    var found: FoundFile?
    do { found = try await sink.look(.once) } catch  where error is Failure || error is TransportError {}
    var tellsDigest = false
    if case .object(let object, _)? = found { tellsDigest = !object.digests.isEmpty }
    adoptions.note(sink.origin, tellsDigest: tellsDigest)
    return found
  }

  /// What a listing says that a look could not say better; nil where the destination is to be looked at.
  private nonisolated(nonsending) func listed() async throws -> FoundFile? {
    switch try await scope.listed.answer() {
    case .untold: return nil
    // `keep` and `fail` must not guess: the key may have come since.
    case .absent: return scope.settings.ifExists == .replace ? .nothing : nil
    case .entry(let entry):
      // One of the same size may be the file: its digests tell. What fails a transfer is asked for itself.
      guard let size = entry.size, size != source.request.size, scope.settings.ifExists != .fail else {
        return nil
      }
      var object = RemoteObject()
      (object.size, object.etag) = (size, entry.etag)
      return .object(object)
    }
  }

  /// What came to the destination while the upload was under way, which `if_exists` protects.
  ///
  /// - Returns: the file where it is this one: an answer was lost.
  nonisolated(nonsending) func last(
    _ session: RemoteSession, _ chunks: [ChunkRecord], _ mine: [DigestAlgorithm: String]
  ) async throws -> UploadedFile? {
    guard source.request.mustBeNew, scope.traits.looksBeforeItsEnd,
      let found = try await scope.sink.look(.retried)
    else { return nil }
    switch found {
    case .nothing, .hidden: return nil
    // What can't be read may be a file.
    case .failed(let failure): throw failure
    case .object: break
    }
    if let file = try await uploaded(session, chunks, mine) { return file }
    throw Failure(
      .destinationExists,
      "there is a file at \(scope.sink.lookedAt) already: it came while the upload was under way")
  }

  /// What stands there, where it is what this upload wanted there.
  ///
  /// - Parameter mine: the source's digests, where they are known.
  nonisolated(nonsending) func uploaded(
    _ session: RemoteSession?, _ chunks: [ChunkRecord], _ mine: [DigestAlgorithm: String]
  ) async throws -> UploadedFile? {
    guard case .object(let object, _)? = try await scope.sink.look(.retried),
      object.size == nil || object.size == source.request.size
    else { return nil }
    let traits = scope.traits
    var file = traits.file(object)
    file.remoteID = file.remoteID ?? traits.closed(scope.record.progress.session, receipt: nil).remoteID
    file.digests = ownWord(object)
    let told = told(object)
    var mine = mine
    let wanted = told.isEmpty ? [.sha256] : Set(told.keys)
    if session == nil, source.request.mustBeNew, scope.copiedBy == .relay, let copy = source.copy,
      wanted.allSatisfy({ mine[$0] == nil })
    {
      // A kill came behind the only request, and what was known of its bytes is gone: the source tells it again.
      try await copy.learn(wanted)
      mine = try await source.digests.whole()
    }
    if !told.isEmpty, object.size != nil, !mine.isEmpty {
      let ours = try await source.digests.whole(also: told.keys)
      let known = told.filter { ours[$0.key] != nil }
      guard known.allSatisfy({ ours[$0.key] == $0.value }) else { return nil }
      guard !known.isEmpty else { return try await isMade(object, by: session, chunks) ? file : nil }
      if known[.md5] != nil, traits.etagsMayBeMD5 { file.checks = [Verification("md5", .server, .match)] }
      return file
    }
    if object.size != nil, try await isMade(object, by: session, chunks) { return file }
    // Where no digest tells, the bytes do.
    guard told.isEmpty, let own = mine[.sha256], scope.copiedBy == .relay else { return nil }
    do {
      guard let there = try await readBack(file) else { return nil }
      return there.digest == own ? file : nil
    } catch let failure as Failure where failure.code == .notFound {
      return nil
    }
  }

  /// What stands there has the marks of what the session made.
  private nonisolated(nonsending) func isMade(
    _ object: RemoteObject, by session: RemoteSession?, _ chunks: [ChunkRecord]
  ) async throws -> Bool {
    guard let session, scope.traits.matches(object, session: session, chunks: chunks) else { return false }
    // Another client's file may have the same size and time: the upload's own has lost its temporary name.
    return try await !scope.sink.hasTemporaryName(session)
  }

  /// This, where it is what stands there: by a digest that is told, or by its bytes.
  nonisolated(nonsending) func finds(_ intended: WrittenObject) async throws -> UploadedFile? {
    guard case .object(let object, _)? = try await scope.sink.look(.retried),
      object.size == nil || object.size == intended.size, try await has(object, intended)
    else { return nil }
    var file = scope.traits.file(object)
    file.digests[.sha256] = intended[.sha256]
    return file
  }

  private nonisolated(nonsending) func has(
    _ object: RemoteObject, _ intended: WrittenObject
  ) async throws -> Bool {
    if let digest = told(object)[.sha256] { return digest == intended[.sha256] }
    do { return try await readBack(scope.traits.file(object))?.digest == intended[.sha256] } catch let failure
      as Failure where failure.code == .notFound
    {
      return false
    }
  }

  /// What the server itself knows of what was found: what can't be an echo, nor an ETag of another kind.
  func ownWord(_ object: RemoteObject) -> [DigestAlgorithm: String] {
    object.digests.filter {
      !scope.traits.echoes.contains($0.key) && ($0.key != .md5 || !scope.traits.etagsMayBeMD5)
    }
  }

  /// What was told of it, without an MD5 where ETags are none.
  func told(_ object: RemoteObject) -> [DigestAlgorithm: String] {
    object.digests.filter { $0.key != .md5 || scope.context.uploads.etags[scope.endpointName] != .other }
  }

  nonisolated(nonsending) func readBack(_ file: UploadedFile) async throws -> ReadBack? {
    let scope = scope
    return try await scope.sink.readBack(file) { count in
      scope.count(count)
      // Compared, and of no use beyond.
      scope.record.note(.discarded(Int64(count)))
    }
  }
}
