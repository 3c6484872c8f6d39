import Digests
import Endpoints
import HTTPClient
import JobLedger
import JobModel

/// Opens a session: its intent is on record before the server is asked, and where only its time would find it again, the
/// session itself before a part is sent.
struct SessionOpening {
  let scope: UploadScope
  let source: SendingSource

  /// The session's fact that tells what the manifest said of the object when it was opened.
  static let said = "words"
  /// The session's fact that it was opened in place of one that was told otherwise: that is done once, as rows may have other
  /// words in each attempt.
  static let anew = "anew"

  /// A digest of what the manifest says of the object, its endpoint's own words included, of which a session is told when it
  /// is opened and not later; the same in each run, and whatever the environment gives. nil where the destination takes none
  /// of it.
  func said() throws -> String? {
    let (settings, destination) = (scope.settings, scope.record.transfer.destination)
    let abilities = RemotePlace.driver(destination, scope.context.endpoints).abilities
    guard !abilities.keeps.isEmpty || !abilities.takes.isEmpty else { return nil }
    let run = RunValues(id: scope.context.run.id, startedAt: scope.context.run.startedAt)
    let (rule, given) = (settings.preserve, settings.given)
    var words: [String: String] = [:]
    if case .remote(let name, _) = destination { words = scope.context.endpoints[name]?.objectWords ?? [:] }
    func say(_ key: String, _ value: String?) {
      guard let value else { return }
      let text = value.replacing(run.date, with: "${run.date}")
      words[key] =
        given.written[key] ?? (run.id.isEmpty ? text : text.replacing(run.id, with: "${run.id}"))
    }
    // Where a secret comes from says nothing of it.
    for header in settings.headers { say("headers.\(header.name.lowercased())", header.text) }
    for (name, value) in given.metadata { say("metadata.\(name)", value) }
    for (name, value) in given.tags { say("tags.\(name)", value) }
    say("storage_class", given.storageClass)
    if abilities.keeps.contains(.contentType) { say("content_type", settings.contentType) }
    let asked = abilities.keeps.inOrder.filter { rule.asks(for: $0) }
    let text = JSON.array([
      .array(asked.map { .string($0.rawValue + (rule.demands($0) ? "!" : "")) }),
      .bool(rule.takesAvailable && abilities.takes.contains(.storageClass)), .dictionary(words),
    ]).text
    return String(try Digest.hex(of: Array(text.utf8), .sha256).prefix(32))
  }

  /// - Parameters:
  ///   - old: the session whose chunks the new one is asked to hold.
  ///   - lost: how many sessions this upload has lost.
  /// - Returns: the session, and whether the server had opened it before.
  nonisolated(nonsending) func open(
    renewing old: RemoteSession?, lost: Int
  ) async throws -> (session: RemoteSession, isReplayed: Bool) {
    let (context, record, requester) = (scope.context, scope.record, scope.requester)
    let intents = SessionIntents(scope: scope)
    // Who lists what is open knows each by its time: one in place of a lost one as well.
    let isFoundAgain = old == nil || scope.traits.listsSessions
    source.request.digests = source.known
    source.request.key = isFoundAgain ? try key(lost) : nil
    let facts = try await scope.sink.prepare(source.request)
    // Not every server lets what was opened be removed.
    try scope.requireProof(
      in: RemoteSession(id: "", chunkSize: source.request.chunkSize, facts: facts))
    var intent = try await intents.intend(source.request)
    let retries = requester.tally.retries
    let wanted = source.request.chunkSize
    var session: RemoteSession
    let isReplayed: Bool
    do {
      var start = try await scope.sink.begin(source.request, renewing: old)
      if case .limited(let limit, let failure) = start {
        if let intent {
          intents.settle(intent, asked: 1 + requester.tally.retries - retries, failure: failure)
        }
        source.limitChunks(to: limit)
        source.request.key = isFoundAgain ? try key(lost) : nil
        intent = try await intents.intend(source.request) ?? intent
        start = try await scope.sink.begin(source.request, renewing: old)
      }
      switch start {
      case .opened(let opened, let isKnown): (session, isReplayed) = (opened, isKnown)
      case .limited(_, let failure): throw failure
      }
    } catch {
      if let intent { intents.settle(intent, asked: 1 + requester.tally.retries - retries, failure: error) }
      throw error
    }
    session.facts.merge(facts) { own, _ in own }
    guard !session.holds(context.client.mask) else {
      throw Failure(
        .protocolViolation,
        "\(scope.sink.place) named its session by a secret that it was sent, which is never recorded")
    }
    session.facts[Self.said] = try said()
    session.facts[Self.anew] = scope.isAnew ? "1" : old?.facts[Self.anew]
    noteSize(session, wanted: wanted, isFirst: old == nil)
    // What a session that this one takes the place of holds is of the source as it was then.
    let began = old == nil ? nil : record.progress.source
    record.note(.opened(session, began ?? source.file.facts))
    UploadAttributes(scope: scope, source: source).noteRefused()
    record.save()
    try ChunkSizeChoice.check(
      size: source.request.size, chunk: session.chunkSize, most: nil, record.transfer.destination)
    if let intent { intents.settle(intent, asked: 1 + requester.tally.retries - retries) }
    // Looked for by its time, only an empty one is taken for ours: a kill behind the first part would leave it open.
    if intent?.askedAt != nil { try await context.run.writer.barrier() }
    // One that an earlier attempt could not end, and that is gone on with now.
    if isReplayed { context.run.writer.submit(.ended(seq: record.transfer.seq, session)) }
    return (session, isReplayed)
  }

  /// The size that the server agreed to, at once or after it refused the one that was `wanted`.
  private func noteSize(_ session: RemoteSession, wanted: Int64, isFirst: Bool) {
    if isFirst, session.chunkSize < wanted {
      scope.context.uploads.chunkLimits.note(scope.sink.origin, session.chunkSize, size: source.request.size)
    }
    if session.chunkSize > 0 { scope.record.note(.chosen(chunk: session.chunkSize)) }
    if scope.settings.chunkSize != .auto, session.chunkSize != wanted, isFirst,
      min(session.chunkSize, wanted) < source.request.size
    {
      scope.record.warn(
        "chunks are \(session.chunkSize) bytes, as the server wants, in place of \(wanted)",
        hint: "set `chunk_size: \(session.chunkSize)` to say so yourself")
    }
  }

  /// What this version of the source is known by when a session is opened for it; after a loss, and for chunks of
  /// another size, another one: a key belongs to one request (draft-ietf-httpapi-idempotency-key-header, 2.2).
  private func key(_ lost: Int) throws -> String? {
    guard !scope.context.run.id.isEmpty else { return nil }
    // A snapshot's own times say nothing: it is made anew by an attempt that knows of no session.
    let request = source.request
    let facts = "\(request.size) \(source.file.recorded.mtime) \(request.fingerprint ?? "")"
    let count = "\(scope.record.progress.freshStarts) \(lost) \(request.chunkSize)"
    let promise = request.digests[.sha256] ?? ""
    let parts = [scope.context.run.id, scope.record.id, facts, count, try said() ?? "", promise]
    let text = parts.joined(separator: "\0")
    return String(try Digest.hex(of: Array(text.utf8), .sha256).prefix(32))
  }
}
