import Admission
import Digests
import Endpoints
import HTTPClient
import JobLedger
import JobModel
import LocalFiles

/// The source of a copy while it is sent: an object bound to one version, whose chunks pass through the buffer budget.
///
/// A chunk is read whole before its request to the sink is made, so that no request waits for another's connection. What does
/// not fit the budget, or finds it in the hands of slow servers, passes through a `BytePipe`, as does an object without ranges.
///
/// Belongs to one transfer's actor.
final class CopySource: SendingFile, SendingDigests {
  let origin: CopyOrigin
  private let scope: UploadScope
  private(set) var object: RemoteObject
  /// The object is the one on record, and was not asked for in this attempt: its attributes are not known.
  private let isRecorded: Bool
  /// All of it, where that came with the look at it, until it is sent.
  private var whole: BufferedChunk?
  /// All of it was read before it is to be sent.
  var isHere: Bool { whole != nil }
  private var held: [Int: BufferedChunk] = [:]
  /// Digests of chunks that were read for them, and are not held.
  private var hashed: [Range<Int64>: [DigestAlgorithm: String]] = [:]
  private var digests: CopyDigests
  private let stream: CopyStream
  private(set) var isStreamed = false
  /// Ranges of one version have come.
  private var hasRanges = false
  /// Reads a range, or everything, into a pipe, as a task of the transfer's actor.
  var feed: (PipedRange, BytePipe) -> Task<Void, Never> = { _, _ in Task {} }

  init(
    _ origin: CopyOrigin, _ scope: UploadScope, _ object: RemoteObject, isRecorded: Bool,
    whole: BufferedChunk? = nil
  ) throws {
    (self.origin, self.scope, self.object, self.isRecorded) = (origin, scope, object, isRecorded)
    self.whole = whole
    digests = try CopyDigests(of: object, origin, scope)
    stream = CopyStream(origin, scope)
    isStreamed = !isByService && (object.servesRanges == false || !object.isTied)
    if isStreamed { noteStream() }
  }

  /// What an earlier attempt sent, and what is sent now, are of one object.
  var canGoOn: Bool { object.isTied }
  /// The service copies: no byte passes here.
  var isByService: Bool { scope.copiedBy == .service }
  private var look: CopyLook { CopyLook(origin: origin, scope: scope) }
  private var version: CopyVersion {
    CopyVersion(object: object, attempt: "\(scope.context.run.id) \(scope.record.progress.attempts)")
  }
  private var reader: CopyReader {
    CopyReader(origin: origin, scope: scope, object: object) { [self] in pinned() }
  }

  // MARK: What it is

  var place: String { "`\(scope.record.transfer.source.text)`" }
  var size: Int64 { object.size ?? 0 }
  var recorded: FileFacts { facts }
  var facts: FileFacts { version.facts }
  func contentName(_ id: String) throws -> String { try version.contentName(id) }

  /// Each answer is judged by the version: nothing has to be looked at besides.
  func check() throws(Failure) {}

  /// Looks whether the source still is what it was.
  nonisolated(nonsending) func confirm() async throws { try await look.confirm(object) }

  nonisolated(nonsending) func confirmEmptiness() async throws {
    // What the service copies is compared with what it was said to be.
    if size == 0, !isByService, whole == nil { try await look.confirmEmptiness(of: object) }
  }

  /// The object with its attributes.
  nonisolated(nonsending) func described() async throws -> RemoteObject {
    isRecorded || object.isPinned ? try await look.described(object) : object
  }

  nonisolated(nonsending) func outcome(ofType type: String) async throws -> Digests.MediaTypeRule.Outcome {
    try await CopyTypeCheck(reader: reader).outcome(ofType: type)
  }

  nonisolated(nonsending) func reopen() async throws {
    cancel()
    object = try await look.look(begun: nil)
    digests = try CopyDigests(of: object, origin, scope)
    isStreamed = !isByService && (isStreamed || object.servesRanges == false || !object.isTied)
    scope.record.note(.copying(object, scope.copiedBy))
  }

  /// The version that was begun with, to be read on; nil where none is kept.
  private func pinned() -> RemoteObject? {
    // Another chunk may have found it out as well.
    guard !object.isPinned else { return object }
    guard let pinned = origin.source.pinned(object) else { return nil }
    look.warn(copiesOn: object)
    object = pinned
    scope.record.note(.copying(object, scope.copiedBy))
    return object
  }

  /// - Throws: where ranges came whose version nobody names any more: what the stream brings may be another one's.
  private func becomeStream(after failure: Failure) throws(Failure) {
    // Another chunk may have found it out as well.
    guard !isStreamed else { return }
    isStreamed = true
    noteStream()
    guard failure.expected == object.etag, object.etag != nil,
      hasRanges || scope.record.progress.chunksCompleted > 0
    else { return }
    throw Failure(.remoteChanged, failure.message, class: .sourceChanged, expected: object.etag)
  }

  private func noteStream() {
    scope.requester.isPaired = true
    guard size > Int64(scope.record.transfer.settings.chunkSize.bytes(of: size, chosen: nil)) else { return }
    scope.record.warn(
      object.isTied
        ? "the source does not serve ranges: it is one stream, and an attempt that is stopped reads it from its beginning"
        : "nothing tells one version of the source from another: it is one stream, which can't be resumed")
  }

  // MARK: Digests

  func begin() throws {}

  func cancel() {
    stream.cancel()
    digests.stop()
    (whole, held, hashed) = (nil, [:], [:])
  }

  /// The work is over: lets go of whoever feeds it, which has it in turn.
  func close() {
    cancel()
    feed = { _, _ in Task {} }
    digests.close()
  }

  func willSend(besides held: HeldChunks, told chunks: @escaping () -> [ChunkRecord]) {
    digests.willSend(besides: held, told: chunks)
  }

  /// These chunks are all of what the sink was sent.
  func recall(_ chunks: [ChunkRecord]) { digests.recall(chunks) }

  /// Reads all of it for digests that nothing else tells; from then on they are known.
  nonisolated(nonsending) func learn(_ algorithms: Set<DigestAlgorithm>) async throws {
    digests.learn(try await of(0..<size, algorithms))
  }

  /// Reads all of it where the sink compares digests of the whole, and none of them is known: of what earlier attempts copied
  /// nothing else tells one. All that is wanted of the whole is taken of that one reading.
  nonisolated(nonsending) func learn(toCompareWith told: Set<DigestAlgorithm>) async throws {
    guard !isByService, scope.settings.verify != .size, !told.isEmpty else { return }
    let known = try digests.whole()
    guard told.isDisjoint(with: known.keys) else { return }
    warnOfReading(for: told)
    let said = scope.settings.then?.digests ?? []
    try await learn(told.union(object.digests.keys).union(scope.expect.digests.keys).union(said))
  }

  private func warnOfReading(for algorithms: Set<DigestAlgorithm>) {
    scope.record.warn(
      "the source is read once more: nothing else tells \(algorithms.map(\.rawValue).sorted().joined(separator: ", ")) of what earlier attempts copied"
    )
  }

  var chunkDigest: DigestAlgorithm? { digests.chunkDigest }

  nonisolated(nonsending) func whole(
    also more: some Sequence<DigestAlgorithm>
  ) async throws -> [DigestAlgorithm: String] { try digests.whole() }

  /// Compares what the manifest expects with what is known of the bytes; what nothing tells is read once more.
  ///
  /// - Parameters:
  ///   - told: by the sink.
  ///   - mayRead: false while more may still pass.
  nonisolated(nonsending) func checkExpected(
    _ told: [DigestAlgorithm: String] = [:], mayRead: Bool
  ) async throws {
    let unknown = digests.unknown(told)
    if mayRead, !unknown.isEmpty {
      warnOfReading(for: unknown)
      try await learn(unknown)
    }
    try digests.checkExpected(told)
  }

  func noteUncompared(_ told: [DigestAlgorithm: String]) { digests.noteUncompared(told) }

  nonisolated(nonsending) func of(
    _ range: Range<Int64>, _ algorithms: some Collection<DigestAlgorithm> & Sendable
  ) async throws -> [DigestAlgorithm: String] {
    guard !algorithms.isEmpty else { return [:] }
    if let known = hashed[range], algorithms.allSatisfy({ known[$0] != nil }) {
      return known.filter { algorithms.contains($0.key) }
    }
    if let one = held.values.first(where: { $0.has(range) }) {
      return try await one.digests(of: range, Array(algorithms), on: scope.context.local.pool)
    }
    return try await reader.digests(of: range, algorithms)
  }

  // MARK: Bytes

  /// Brings a chunk here, where it fits the budget.
  ///
  /// - Parameter algorithms: of the digests that go before its body, and of those that its answer may be compared with.
  nonisolated(nonsending) func hold(
    _ chunk: UploadChunk, hashing algorithms: [DigestAlgorithm]
  ) async throws {
    let (range, budget, server) = (chunk.range, scope.context.uploads.budget, scope.sink.origin)
    guard !isByService, !range.isEmpty else { return }
    let (isWhole, fits) = (range == 0..<size, range.count <= budget.capacity)
    if isWhole, let whole {
      self.whole = nil
      return try await take(whole, chunk)
    }
    // A pipe hashes all bytes, or those that are read twice: what else passes through one would go unproved.
    let canPass = isWhole || !isStreamed && !algorithms.isEmpty
    if fits, let loan = try await budget.room(range.count, for: server, canDoWithout: canPass) {
      return try await hold(chunk, in: loan)
    }
    if isStreamed, !isWhole { throw tooLarge(chunk) }
    guard canPass, !algorithms.isEmpty else { return }
    // All of it is hashed once more on its way, and compared before its last byte goes on.
    guard !isWhole else {
      // What comes once is hashed as it passes.
      guard !isStreamed else { return }
      do { hashed[range] = try await reader.digests(of: range, algorithms) } catch let failure as Failure
        where failure.class == .rangesUnserved
      {
        try becomeStream(after: failure)
      }
      return
    }
    do {
      hashed[range] = try await digests.pass(
        range, algorithms, reader, inOrder: fits || digests.isAwaited)
      hasRanges = hasRanges || !isStreamed
    } catch let failure as Failure
      where failure.class == .rangesUnserved
    {
      try becomeStream(after: failure)
      guard fits, let loan = try await budget.room(range.count, for: server) else { throw tooLarge(chunk) }
      try await hold(chunk, in: loan)
    }
  }

  private nonisolated(nonsending) func hold(
    _ chunk: UploadChunk, in loan: BufferBudget.Loan
  ) async throws {
    let range = chunk.range
    let holding = scope.requester.transfer?.buffers.hold()
    try await fill(loan, range)
    try await take(BufferedChunk(start: range.lowerBound, loan: loan, holding: holding), chunk)
  }

  /// A chunk's bytes are here.
  private nonisolated(nonsending) func take(_ bytes: BufferedChunk, _ chunk: UploadChunk) async throws {
    held[chunk.index] = bytes
    do {
      // What was read in a try before is not what goes now.
      if chunk.range == 0..<size { try digests.restart() }
      try await digests.add(bytes.loan, at: bytes.start)
      // The only request's bytes are compared before they go.
      if chunk.range == 0..<size { try await checkWhole() }
    } catch {
      // They do not go.
      scope.countUnsent(Int64(chunk.range.count))
      throw error
    }
  }

  private nonisolated(nonsending) func fill(_ loan: BufferBudget.Loan, _ range: Range<Int64>) async throws {
    if !isStreamed {
      do {
        try await reader.read(range) { bytes, offset in
          loan.write(bytes, at: Int(offset - range.lowerBound))
        }
        hasRanges = true
      } catch let failure as Failure where failure.class == .rangesUnserved {
        try becomeStream(after: failure)
      }
    }
    guard isStreamed else { return }
    let whole = PipedRange(0..<size, isStream: true)
    try await stream.fill(loan, range, of: object) { feed(whole, $0) }
  }

  /// The largest chunks that may be asked for, in bytes; nil where any may. What is larger than the budget passes through a
  /// pipe, and is read for its digests before: ranges of a source, to a destination that takes digests.
  ///
  /// - Parameter wanted: the manifest's `chunk_size`.
  func mostHeld(_ wanted: ChunkSize) -> Int64? {
    let isHashed = !scope.traits.abilities(of: size).chunkDigests.isEmpty || scope.traits.etagsMayBeMD5
    return isStreamed || !isHashed || wanted == .auto ? Int64(scope.context.uploads.budget.capacity) : nil
  }

  /// The chunks of a stream have to be held: the copy begins anew with smaller ones, where the destination takes those.
  private func tooLarge(_ chunk: UploadChunk) -> Failure {
    let capacity = Int64(scope.context.uploads.budget.capacity)
    let smallest = scope.traits.abilities(of: size).chunkSize(wanted: capacity, of: size)
    return Failure(
      .rangeInvalid,
      "\(place) comes in one stream, and its chunks of \(chunk.range.count) bytes are too large to be held; set `chunk_size` to 16MiB at most",
      class: smallest <= capacity ? .sourceChanged : .permanent)
  }

  /// The chunk's MD5 costs no reading: it is here, or was read for its digests.
  func knowsMD5(of chunk: UploadChunk) -> Bool {
    held[chunk.index] != nil || hashed[chunk.range]?[.md5] != nil
  }

  /// The sink has the chunk, or will not have it.
  func release(_ chunk: UploadChunk) {
    held[chunk.index] = nil
    hashed[chunk.range] = nil
    digests.end(of: chunk.range.lowerBound)
  }

  /// The chunk as the body of a request, with the digests that go before it.
  nonisolated(nonsending) func body(
    of bare: UploadChunk, _ algorithms: [DigestAlgorithm], moved: @escaping (Int) -> Void
  ) async throws -> (UploadChunk, any SentBody) {
    guard !isByService else { return (bare, NamedBody()) }
    var chunk = bare
    chunk.digests = try await of(chunk.range, algorithms)
    guard let one = held[chunk.index] else {
      return (chunk, try piped(chunk, moved: moved))
    }
    if algorithms.isEmpty, let kept = chunkDigest { chunk.digests = try await of(chunk.range, [kept]) }
    let body = try ChunkBody(
      file: nil, range: chunk.range, loan: one.loan, start: one.start, proof: nil, canAsk: true, moved: moved)
    return (chunk, body)
  }

  private func piped(_ chunk: UploadChunk, moved: @escaping (Int) -> Void) throws -> PipedBody {
    let (pipe, isWhole) = (BytePipe(), chunk.range == 0..<size)
    guard isWhole || !isStreamed else { throw tooLarge(chunk) }
    // What was hashed before the body is what has to pass.
    // A CRC guards against accident alone.
    let known = chunk.digests.isEmpty ? hashed[chunk.range] ?? [:] : chunk.digests
    let strong = known.first { $0.key.isCryptographic }
    let expected = strong ?? known.min { $0.key.rawValue < $1.key.rawValue }
    let wanted = PipedRange(chunk.range, isStream: false, expected: expected.map { ($0.key, $0.value) })
    // It is the half that waits for its connection.
    scope.requester.isPaired = false
    // What passed in a try that broke is not the beginning of this one.
    if isWhole { try digests.restart() } else if hashed[chunk.range] == nil { digests.stop() }
    if chunk.range.isEmpty { pipe.end(nil) }
    return PipedBody(pipe, length: Int64(chunk.range.count)) { [self] in
      chunk.range.isEmpty ? Task {} : feed(wanted, pipe)
    } moved: { count in
      moved(count)
    }
  }

  /// Reads a range, or all of a stream, into a pipe; what breaks it is told by the pipe.
  nonisolated(nonsending) func pour(_ piped: PipedRange, into pipe: BytePipe) async {
    // Of a stream the sink's request is the half that waits for nothing.
    let from = piped.isStream ? origin : origin.paired
    await PipeFeeder(origin: from, scope: scope, object: object, digests: digests) { [self] in pinned() }
      .pour(piped, into: pipe) { try await self.checkWhole() }
  }

  /// All has passed, and its last byte has not gone on.
  private nonisolated(nonsending) func checkWhole() async throws {
    _ = try digests.whole()
    try await checkExpected(mayRead: false)
  }
}
