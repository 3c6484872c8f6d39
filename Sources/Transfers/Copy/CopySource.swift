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
/// not fit the budget passes through a `BytePipe`, as does an object without ranges.
///
/// Belongs to one transfer's actor.
final class CopySource: SendingFile, SendingDigests {
  /// Bytes of a chunk that are here, until the sink has them.
  private struct Held {
    let start: Int64
    let loan: BufferBudget.Loan
    /// While others may wait for the loan, this transfer waits for no permit.
    let holding: SharedBuffers.Holding?
  }

  let origin: CopyOrigin
  private let scope: UploadScope
  private(set) var object: RemoteObject
  /// The object is the one on record, and was not asked for in this attempt: its attributes are not known.
  let isRecorded: Bool
  private var held: [Int: Held] = [:]
  /// nil where what passes in this attempt is not all of it.
  private var passing: PassingDigest?
  /// Those that the sink holds: their checksums make the whole's.
  private var chunks: () -> [ChunkRecord] = { [] }
  /// The one stream of an object without ranges.
  private var stream: (pipe: BytePipe, position: Int64, task: Task<Void, Never>)?
  private(set) var isStreamed = false
  private var streamTurn = AsyncTurn()
  /// Reads a range, or everything, into a pipe, as a task of the transfer's actor.
  var feed: (PipedRange, BytePipe) -> Task<Void, Never> = { _, _ in Task {} }

  init(_ origin: CopyOrigin, _ scope: UploadScope, _ object: RemoteObject) throws {
    (self.origin, self.scope, self.object) = (origin, scope, object)
    isRecorded = Self.standing(scope.record) == object
    passing = try newDigest()
    isStreamed = !isByService && (object.servesRanges == false || !isTied)
    if isStreamed { noteStream() }
  }

  /// Ranges of it are of one object: a strong validator or a version goes with each. Ranges of all else may be of two.
  private var isTied: Bool { object.rangeValidator != nil || object.version != nil }

  /// What an earlier attempt sent, and what is sent now, are of one object.
  var canGoOn: Bool { isTied }

  // MARK: What it is

  /// The service copies: no byte passes here.
  var isByService: Bool { scope.copiedBy == .service }

  /// Asks what is there. A completion that the manifest's own digest vouches for needs no look at the source.
  nonisolated(nonsending) static func find(_ origin: CopyOrigin, _ scope: UploadScope) async throws
    -> RemoteObject
  {
    if let known = standing(scope.record) { return known }
    let progress = scope.record.progress
    return try await look(origin, scope, begun: progress.session == nil ? nil : progress.sourceObject)
  }

  /// The object of a completion that needs no look at its source.
  private static func standing(_ record: TransferRecord) -> RemoteObject? {
    record.progress.completedAt != nil && mayStand(record) ? record.progress.sourceObject : nil
  }

  /// Looks whether the source still is what it was: not every store keeps to the condition that binds requests to a version.
  nonisolated(nonsending) func confirm() async throws {
    // A version that requests name never changes.
    guard let seen = try await origin.source.describe(object) else { return }
    guard !object.isSameVersion(as: seen) else { return }
    throw Failure(
      .remoteChanged, "\(origin.source.place) changed while it was copied", class: .sourceChanged,
      expected: object.etag, actual: seen.etag)
  }

  /// The object with its attributes. The record keeps none, so an object that comes from there is asked for.
  nonisolated(nonsending) func described() async throws -> RemoteObject {
    guard isRecorded || object.isPinned else { return object }
    do { return try await origin.source.probe(of: object) } catch let failure as Failure
      where object.isPinned && [403, 404, 405].contains(failure.httpStatus)
    {
      // As where its bytes are asked for: the object that has the name now is left.
      throw failure.classed(.sourceChanged)
    }
  }

  private static func mayStand(_ record: TransferRecord) -> Bool {
    switch record.refresh {
    case .never: true
    case .always: false
    case .changed:
      record.transfer.settings.verify != .size && !record.context.checksEverything
        && record.transfer.expect.digests.keys.contains(where: \.isCryptographic)
    }
  }

  /// - Parameter begun: the object that an earlier attempt has sent a part of.
  private nonisolated(nonsending) static func look(
    _ origin: CopyOrigin, _ scope: UploadScope, begun: RemoteObject?
  ) async throws -> RemoteObject {
    let source = origin.source
    var seen: RemoteObject
    if let told = try await source.describe(begun ?? RemoteObject()) {
      seen = told
    } else if let begun, begun.isPinned {
      // Requests name its version, which never changes, whatever has its name now.
      seen = begun
    } else {
      seen = try await source.probe()
    }
    if let begun, !begun.isSameVersion(as: seen), let pinned = source.pinned(begun) {
      scope.record.warn(
        "the source changed: its version \(begun.version ?? ""), which was begun with, is copied on")
      seen = pinned
    }
    guard seen.size != nil else {
      throw Failure(
        .protocolViolation,
        "\(source.place) tells no size, which a destination has to be told beforehand: download it first, then upload it",
        class: .permanent)
    }
    return seen
  }

  var place: String { "`\(scope.record.transfer.source.text)`" }
  var size: Int64 { object.size ?? 0 }
  var recorded: FileFacts { facts }

  /// The version as facts of a file: any difference means another object.
  var facts: FileFacts {
    let digest = (try? Digest.bytes(of: Array(version.utf8), .sha256)) ?? []
    let number = digest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } >> 1
    return FileFacts(
      size: size, mtime: Int64(number), ctime: 0, inode: 1, fingerprint: Hex.encode(digest.prefix(16)))
  }

  /// What tells this version from others, the best mark first.
  private var version: String {
    if let etag = object.etag {
      let opaque = etag.hasPrefix("W/") ? String(etag.dropFirst(2)) : etag
      return (object.version ?? "") + "\0" + opaque
    }
    if let version = object.version { return version }
    if let time = object.lastModified { return time }
    // Without any nothing tells whether it is still the same.
    guard !object.digests.isEmpty else {
      return "\(scope.context.run.id) \(scope.record.progress.attempts)"
    }
    return object.digests.map { "\($0.key)=\($0.value)" }.sorted().joined(separator: " ")
  }

  /// Each answer is judged by the version: nothing has to be looked at besides.
  func check() throws(Failure) {}

  nonisolated(nonsending) func reopen() async throws {
    cancel()
    object = try await Self.look(origin, scope, begun: nil)
    passing = try newDigest()
    isStreamed = !isByService && (isStreamed || object.servesRanges == false || !isTied)
    scope.record.note(.copying(object, scope.copiedBy))
  }

  /// A name of the content for a service that wants one: of the version, as the samples of imohash would have to be fetched.
  func contentName(_ id: String) throws -> String {
    String(try Digest.hex(of: Array((id + (facts.fingerprint ?? "")).utf8), .sha256).prefix(32))
  }

  // MARK: Digests

  private func newDigest() throws -> PassingDigest? {
    guard !isByService, scope.settings.verify != .size || !scope.expect.digests.isEmpty else { return nil }
    let wanted = Set(scope.expect.digests.keys).union(object.digests.keys).union([.sha256])
      .union(scope.traits.abilities(of: size).fileDigests)
    return try PassingDigest(wanted, pool: scope.context.local.pool)
  }

  func begin() throws {}

  func cancel() {
    stream?.task.cancel()
    stream = nil
    passing = nil
    held = [:]
  }

  /// The work is over: lets go of whoever feeds it, which has it in turn.
  func close() {
    cancel()
    feed = { _, _ in Task {} }
    chunks = { [] }
  }

  /// Chunks are about to be sent. Where the sink holds others than have passed here, no digest of the whole can be made of
  /// what passes.
  func willSend(besides held: HeldChunks, told chunks: @escaping () -> [ChunkRecord]) {
    self.chunks = chunks
    // What waits for a chunk that was lost on its way has room that this one needs.
    passing?.letGo()
    guard let passing, held.sorted.contains(where: { $0.range.upperBound > passing.position }) else { return }
    self.passing = nil
  }

  /// Digests of the bytes that have passed, all of them.
  func passed() -> [DigestAlgorithm: String] {
    if let found = passing?.finish(size: size) { return found }
    let (parts, algorithm) = (chunks().sorted { $0.offset < $1.offset }, DigestAlgorithm.crc64nvme)
    var (sum, end) = (CRC64NVME(), Int64(0))
    guard chunkDigest == algorithm else { return [:] }
    for part in parts {
      guard part.offset == end, let value = UInt64(part.digest, radix: 16), part.digest.utf8.count == 16
      else {
        return [:]
      }
      sum = sum.joined(with: CRC64NVME(value: value), count: part.length)
      end = part.range.upperBound
    }
    return end == size && size > 0 ? [algorithm: Hex.encode(sum.bytes)] : [:]
  }

  /// The checksum that chunks are recorded with where those of all chunks make that of the whole.
  var chunkDigest: DigestAlgorithm? {
    let abilities = scope.traits.abilities(of: size)
    let isWhole = abilities.order == .any && abilities.fileDigests.contains(.crc64nvme)
    return isWhole && abilities.chunkDigests.contains(.crc64nvme) ? .crc64nvme : nil
  }

  /// - Throws: `INTEGRITY_MISMATCH` where what passed is not what the source says that it gives.
  nonisolated(nonsending) func whole(
    also more: some Sequence<DigestAlgorithm>
  ) async throws -> [DigestAlgorithm: String] {
    let passed = passed()
    for (algorithm, promised) in object.digests.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      guard let found = passed[algorithm] else { continue }
      scope.record.check(
        Verification("\(algorithm.rawValue)-of-source", .server, found == promised ? .match : .mismatch))
      guard found == promised else {
        throw Failure(
          .integrityMismatch,
          "\(origin.source.place): \(algorithm.rawValue) of what was read is \(found), the source says \(promised)",
          expected: promised, actual: found)
      }
    }
    var known = passed.merging(object.digests) { own, _ in own }
    for (algorithm, wanted) in scope.expect.digests {
      guard let told = known[algorithm] else {
        known[algorithm] = wanted
        continue
      }
      guard told == wanted else { throw notExpected(algorithm, told, wanted) }
    }
    return known
  }

  private func notExpected(_ algorithm: DigestAlgorithm, _ found: String, _ wanted: String) -> Failure {
    scope.record.check(Verification(algorithm.rawValue, .manifest, .mismatch))
    return Failure(
      .integrityMismatch,
      "\(algorithm.rawValue) of \(place) is \(found), the manifest expects \(wanted)", class: .permanent,
      expected: wanted, actual: found)
  }

  /// Compares what the manifest expects with the bytes that have passed, and with what the sink says of them; what neither
  /// tells is read once more.
  ///
  /// - Parameter mayRead: false while more may still pass.
  nonisolated(nonsending) func checkExpected(
    _ told: [DigestAlgorithm: String] = [:], mayRead: Bool
  ) async throws {
    let passed = passed()
    var found: [DigestAlgorithm: String] = [:]
    for algorithm in scope.expect.digests.keys {
      found[algorithm] = passed[algorithm] ?? told[algorithm]
      // The service was let copy because it vouches for the source.
      if isByService { found[algorithm] = found[algorithm] ?? object.digests[algorithm] }
    }
    let unknown = Set(scope.expect.digests.keys).subtracting(found.keys)
    if mayRead, !unknown.isEmpty {
      scope.record.warn(
        "the source is read once more: nothing else tells \(unknown.map(\.rawValue).sorted().joined(separator: ", ")) of what earlier attempts copied"
      )
      found.merge(try await of(0..<size, unknown)) { $1 }
    }
    for (algorithm, wanted) in scope.expect.digests.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      guard let digest = found[algorithm] else { continue }
      guard digest == wanted else { throw notExpected(algorithm, digest, wanted) }
      scope.record.check(Verification(algorithm.rawValue, .manifest, .match))
    }
  }

  nonisolated(nonsending) func of(
    _ range: Range<Int64>, _ algorithms: some Collection<DigestAlgorithm> & Sendable
  ) async throws -> [DigestAlgorithm: String] {
    guard !algorithms.isEmpty else { return [:] }
    if let one = held.values.first(where: {
      $0.start <= range.lowerBound && range.upperBound <= $0.start + Int64($0.loan.bytes.count)
    }) {
      return try await digests(of: range, in: one, Array(algorithms))
    }
    let digests = try DigestSet(Set(algorithms.map(\.kind)))
    try await read(range) { digests.update($0) }
    countUnsent(Int64(range.count))
    return DigestAlgorithm.named(digests.finish())
  }

  private nonisolated(nonsending) func digests(
    of range: Range<Int64>, in one: Held, _ algorithms: [DigestAlgorithm]
  ) async throws -> [DigestAlgorithm: String] {
    let (loan, part) = (one.loan, Int(range.lowerBound - one.start)..<Int(range.upperBound - one.start))
    return try await scope.context.local.pool.run {
      let digests = try DigestSet(Set(algorithms.map(\.kind)))
      loan.bytes.withUnsafeBytes { digests.update(.init(rebasing: $0[part])) }
      return DigestAlgorithm.named(digests.finish())
    }
  }

  /// Reads an object that is said to be empty: a HEAD may say so of one that is not.
  nonisolated(nonsending) func confirmEmptiness() async throws {
    // What the service copies is compared with what it was said to be.
    guard size == 0, !isByService else { return }
    let (object, place) = (object, origin.source.place)
    defer { scope.record.count(origin.requester.takeTally()) }
    try await origin.requester.retrying { _ in
      let receiver = RangeReceiver(0..<0, of: object, at: place) { [self] in
        countUnsent(Int64($0))
      } use: { _ in
      }
      return .done(
        try await origin.source.read(nil, of: object, wantsDigest: false, into: receiver))
    }
  }

  /// Looks at the beginning and the end of the content, before a byte goes to the sink.
  nonisolated(nonsending) func outcome(ofType type: String) async throws -> Digests.MediaTypeRule.Outcome {
    struct Missing: Error { let range: Range<Int64> }
    var known: [Int64: [UInt8]] = [:]
    while true {
      do {
        return try Digests.MediaTypeRule.check(type: type, size: size) { offset, count in
          for (start, bytes) in known
          where start <= offset && offset + Int64(count) <= start + Int64(bytes.count) {
            return Array(bytes[Int(offset - start)..<Int(offset - start) + count])
          }
          throw Missing(range: offset..<offset + Int64(count))
        }
      } catch let missing as Missing {
        let range = missing.range
        var bytes: [UInt8] = []
        do { try await read(range) { bytes += $0 } } catch let failure as Failure
          where failure.class == .rangesUnserved
        {
          // One stream: all that lies before it comes too.
          bytes = []
          try await read(0..<range.upperBound) { piece, offset in
            let wanted = (offset..<offset + Int64(piece.count)).clamped(to: range)
            guard !wanted.isEmpty else { return }
            bytes += piece[Int(wanted.lowerBound - offset)..<Int(wanted.upperBound - offset)]
          }
        }
        countUnsent(Int64(bytes.count))
        known[range.lowerBound] = bytes
      }
    }
  }

  // MARK: Bytes

  /// Brings a chunk here, where it fits the budget.
  nonisolated(nonsending) func hold(_ chunk: UploadChunk) async throws {
    let (range, budget) = (chunk.range, scope.context.uploads.budget)
    guard !isByService, range.count <= budget.capacity, !range.isEmpty else { return }
    let loan = try await budget.room(range.count, for: scope.sink.origin)
    let holding = scope.requester.transfer?.buffers.hold()
    if !isStreamed {
      do { try await fill(loan, range) } catch let failure as Failure where failure.class == .rangesUnserved {
        // Another chunk may have found it out as well.
        if !isStreamed {
          isStreamed = true
          noteStream()
        }
      }
    }
    if isStreamed { try await fillFromStream(loan, range) }
    let one = Held(start: range.lowerBound, loan: loan, holding: holding)
    held[chunk.index] = one
    // Its first reading was hashed, this one is sent: no digest of the whole is known any more.
    if let passing, range.lowerBound < passing.position { self.passing = nil }
    try await passing?.add(loan, at: range.lowerBound)
    // The only request's bytes are compared before they go.
    if range == 0..<size {
      _ = try await whole(also: [DigestAlgorithm]())
      try await checkExpected(mayRead: false)
    }
  }

  /// The chunk is here: its digests cost no reading.
  func holds(_ chunk: UploadChunk) -> Bool { held[chunk.index] != nil }

  /// The sink has the chunk, or will not have it.
  func release(_ chunk: UploadChunk) { held[chunk.index] = nil }

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
    guard isWhole || !isStreamed else {
      throw Failure(
        .rangeInvalid,
        "\(place) comes in one stream, and its chunks of \(chunk.range.count) bytes are too large to be held; set `chunk_size` to 16MiB at most",
        class: .permanent)
    }
    // What was hashed before the body is what has to pass.
    let expected = chunk.digests.min { $0.key.rawValue < $1.key.rawValue }
    let wanted = PipedRange(chunk.range, isStream: false, expected: expected.map { ($0.key, $0.value) })
    // It is the half that waits for its connection.
    scope.requester.isPaired = false
    // What passed in a try that broke is not the beginning of this one.
    passing = nil
    if isWhole { passing = try newDigest() }
    if chunk.range.isEmpty { pipe.end(nil) }
    return PipedBody(pipe, length: Int64(chunk.range.count)) { [self] in
      chunk.range.isEmpty ? Task {} : feed(wanted, pipe)
    } moved: { count in
      moved(count)
    }
  }

  /// Reads a range, or all of a stream, into a pipe; what breaks it is told by the pipe.
  nonisolated(nonsending) func pour(_ piped: PipedRange, into pipe: BytePipe) async {
    let (wanted, isWhole) = (piped.range, piped.range == 0..<size)
    origin.requester.isPaired = !piped.isStream
    defer { origin.requester.isPaired = false }
    do {
      let digest = try piped.expected.map { try StreamingDigest($0.algorithm.kind) }
      let receiver = RangeReceiver(wanted, of: object, at: origin.source.place) { _ in
      } use: { [self] bytes in
        if isWhole, !piped.isStream { passing?.update(bytes) }
        digest?.update(bytes)
        pipe.write(bytes)
      }
      do {
        try await origin.source.read(
          isWhole ? nil : wanted, of: object, wantsDigest: false, into: PausingReceiver(receiver, pipe))
      } catch is RangeReceiver.Enough {}
      guard receiver.reached == wanted.upperBound else { throw endedEarly(receiver.reached) }
      if let digest, let expected = piped.expected, digest.finishHex() != expected.hex {
        throw Failure(
          .remoteChanged, "\(origin.source.place) gave other bytes when it was read again",
          class: .sourceChanged)
      }
      if isWhole, !piped.isStream {
        _ = try await whole(also: [DigestAlgorithm]())
        try await checkExpected(mayRead: false)
      }
      pipe.end(nil)
    } catch {
      pipe.end(error)
    }
    scope.record.count(origin.requester.takeTally())
  }

  private func endedEarly(_ end: Int64) -> Failure {
    Failure(.networkUnreachable, "\(origin.source.place): the answer ended at byte \(end)")
  }

  private nonisolated(nonsending) func fill(_ loan: BufferBudget.Loan, _ range: Range<Int64>) async throws {
    try await read(range) { [start = range.lowerBound] bytes, offset in
      loan.write(bytes, at: Int(offset - start))
    }
  }

  private nonisolated(nonsending) func read(
    _ range: Range<Int64>, _ use: @escaping (UnsafeRawBufferPointer) -> Void
  ) async throws {
    try await read(range) { bytes, _ in use(bytes) }
  }

  /// Reads a range; what a broken connection brought is kept, and only the rest asked for again.
  private nonisolated(nonsending) func read(
    _ range: Range<Int64>, _ use: @escaping (UnsafeRawBufferPointer, Int64) -> Void
  ) async throws {
    guard !range.isEmpty else { return }
    var (reached, before) = (range.lowerBound, range.lowerBound)
    defer { scope.record.count(origin.requester.takeTally()) }
    try await origin.requester.retrying { _ in
      before = reached
      let receiver = RangeReceiver(
        reached..<range.upperBound, of: object, at: origin.source.place
      ) { [self] in
        countUnsent(Int64($0))
      } use: { bytes in
        use(bytes, reached)
        reached += Int64(bytes.count)
      }
      do {
        try await origin.source.read(
          reached..<range.upperBound, of: object, wantsDigest: false, into: receiver)
      } catch is RangeReceiver.Enough {}
      guard reached < range.upperBound else { return .done(()) }
      // A server may answer with less than was asked for; it must answer with something.
      guard reached > before else {
        throw Failure(
          .protocolViolation, "\(origin.source.place) answered, and none of what was asked for came")
      }
      return .more
    } recover: { _, _ in
      reached > before ? .progress : .none
    }
  }

  // MARK: One stream

  private func noteStream() {
    scope.requester.isPaired = true
    guard size > Int64(scope.record.transfer.settings.chunkSize.bytes(of: size, chosen: nil)) else { return }
    scope.record.warn(
      isTied
        ? "the source does not serve ranges: it is one stream, and an attempt that is stopped reads it from its beginning"
        : "nothing tells one version of the source from another: it is one stream, which can't be resumed")
  }

  /// Takes a chunk from the stream, which is begun anew where the chunk lies before its place.
  private nonisolated(nonsending) func fillFromStream(
    _ loan: BufferBudget.Loan, _ range: Range<Int64>
  ) async throws {
    await streamTurn.take()
    defer { streamTurn.leave() }
    try await origin.requester.retrying {
      do { try await self.takeFromStream(loan, range) } catch {
        self.stream?.task.cancel()
        self.stream = nil
        throw error
      }
    }
  }

  private nonisolated(nonsending) func takeFromStream(
    _ loan: BufferBudget.Loan, _ range: Range<Int64>
  ) async throws {
    if let stream, stream.position > range.lowerBound {
      stream.task.cancel()
      self.stream = nil
    }
    let current: (pipe: BytePipe, position: Int64, task: Task<Void, Never>)
    if let stream {
      current = stream
    } else {
      guard isTied || range.lowerBound == 0 else {
        throw Failure(
          .remoteChanged,
          "\(origin.source.place) broke off, and nothing tells whether what it gives now is the same object",
          class: .sourceChanged)
      }
      let pipe = BytePipe()
      current = (pipe, 0, feed(PipedRange(0..<size, isStream: true), pipe))
      stream = current
    }
    let (pipe, task) = (current.pipe, current.task)
    var position = current.position
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while position < range.upperBound {
      try Task.checkCancellation()
      await withTaskCancellationHandler {
        await pipe.waitForBytes()
      } onCancel: {
        task.cancel()
      }
      let wanted = (position < range.lowerBound ? range.lowerBound : range.upperBound) - position
      let count = try buffer.withUnsafeMutableBytes {
        try pipe.read(into: .init(rebasing: $0.prefix(Int(min(Int64($0.count), wanted)))))
      }
      guard count > 0 else { throw endedEarly(position) }
      if position < range.lowerBound {
        countUnsent(Int64(count))
      } else {
        buffer.withUnsafeBytes {
          loan.write(.init(rebasing: $0.prefix(count)), at: Int(position - range.lowerBound))
        }
      }
      position += Int64(count)
      stream?.position = position
    }
  }

  /// Bytes that came and are not sent on. What is sent counts as it is sent: a byte that passes counts once.
  private func countUnsent(_ count: Int64) {
    scope.record.note(.moved(count))
    scope.record.note(.discarded(count))
    scope.context.board.count(Int(count))
  }
}

/// A receiver that pauses its source while the pipe behind it is full.
private final class PausingReceiver: ByteReceiver {
  private let inner: RangeReceiver
  private let pipe: BytePipe

  init(_ inner: RangeReceiver, _ pipe: BytePipe) { (self.inner, self.pipe) = (inner, pipe) }

  func open(_ opening: Opening) throws { try inner.open(opening) }
  func take(_ bytes: UnsafeRawBufferPointer) throws { try inner.take(bytes) }
  func mustWait(_ resume: @escaping @Sendable () -> Void) -> Bool { pipe.mustWait(resume) }
}
