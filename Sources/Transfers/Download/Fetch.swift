import Endpoints
import JobModel

/// What is here of a download's object and what is known of it: decides about each read, and does nothing itself.
///
/// What is to be carried out at once waits in order for `takeEffects`.
struct Fetch {
  enum Effect: Sendable, Hashable {
    case note(ProgressEvent)
    case save
    case warn(String)
    case startOver(RestartReason)
    /// Other digests are wanted than those that were begun.
    case hashAnew
    /// These records are of no use.
    case forget([ChunkRecord])
    case wrote(Range<Int64>, contiguous: Int64)
    /// A part of a chunk that is still coming.
    case keep(ChunkRecord)
    /// The only chunk is here.
    case tellWhole
    /// - Parameter completing: bytes of the whole chunk, where it is whole now.
    case record(ChunkRecord, index: Int, completing: Int64?)
    case promoted(FileFacts, chunks: Int)
  }

  /// What becomes of an answer, by its head.
  enum Reception: Sendable, Hashable {
    case take(Range<Int64>)
    /// No bytes come.
    case nothing
    case refuse(Failure)
  }

  /// What a range was answered with that is not wanted whole.
  private static let everything = "everything"

  /// What was tried last after a mismatch.
  enum Repair { case none, chunks, ranges, everything }

  let terms: Terms
  private(set) var object = RemoteObject()
  private(set) var map = RangeMap()
  private(set) var recorded = Known()
  var repair = Repair.none
  /// False where everything comes in one answer, which can't be resumed.
  private(set) var isRanged = true
  /// The size is what came, as the server told none.
  private(set) var isSizeCounted = false
  /// Of the last read's time, the share that the network thread computed in.
  private var busy = 0.0
  /// Ranges come with digests of their own.
  private var hasRangeDigests = true
  /// An answer that told another size under the same ETag; a second one is believed.
  private var contradiction: RemoteObject?
  /// The tags that were told of the object, and by an answer that was refused for it.
  private var contested: (told: String, came: String)?
  /// An answer came with the tag that was told of the object.
  private var hasCommonTag = false
  private var effects: [Effect] = []

  /// A network thread that computes for so much of its time gains nothing from another connection.
  private static var saturation: Double { 0.5 }
  /// Chunks that are asked for at once, for a far server's sake.
  private static var longestRun: Int64 { 16 }

  init(_ terms: Terms) { self.terms = terms }

  mutating func takeEffects() -> [Effect] {
    defer { effects = [] }
    return effects
  }

  /// Bytes a chunk.
  var chunkSize: Int64 {
    let configured = terms.chunkSize.bytes(
      of: object.size, chosen: recorded.automaticChunk, rate: terms.rate)
    // After a mismatch of unknown place, smaller chunks show it better.
    return min(ChunkLayout.largestChunk, max(1, recorded.chunkSize ?? configured))
  }

  var isComplete: Bool { object.size.map { map.isComplete($0) } ?? false }

  /// What earlier attempts left is all of it, and was not compared with the disk yet.
  var isOnlyUnvouched: Bool { isComplete && !map.unvouched.isEmpty }

  /// Ranges of one version can be put together only where something tells versions apart, or the whole is proved.
  var canSplit: Bool {
    guard object.servesRanges != false else { return false }
    return object.rangeValidator != nil || object.version != nil || !terms.expect.digests.isEmpty
      || !object.digests.isEmpty
  }

  /// Digests of ranges have found damage: each answer is proved by its own.
  var provesRanges: Bool { repair == .ranges }

  // MARK: Asking

  /// What of a run is to be asked for next; nil where nothing is missing.
  func missing(in run: Range<Int64>) -> Range<Int64>? {
    guard object.size != 0 else { return nil }
    return map.have.gaps(in: object.size.map { run.clamped(to: 0..<$0) } ?? run).first
  }

  /// Takes the next run of missing chunks; nil where enough are on their way.
  mutating func takeRun(size: Int64, active: Int) -> Range<Int64>? {
    let missing = Int((size - map.have.total + chunkSize - 1) / chunkSize)
    var most = max(1, min(terms.chunksInFlight, missing))
    // Whether the server keeps to ranges is told by the first answer, which is used where it brings everything.
    let isUntried = object.servesRanges == nil && !terms.promisesRanges && map.have.total == 0
    if isUntried || busy > Self.saturation { most = 1 }
    guard active < most else { return nil }
    // An answer that its own digest proves is recorded at its end: were it longer than a chunk, a kill would cost more
    // than the chunks in flight.
    let longest = isUntried || provesRanges || isUnproved && hasRangeDigests ? 1 : Self.longestRun
    return map.take(size: size, chunkSize: chunkSize, workers: most, longest: longest)
  }

  mutating func giveBack(_ run: Range<Int64>) { map.giveBack(run) }

  // MARK: Judging answers

  /// Nothing but answers' own digests can prove the bytes.
  private var isUnproved: Bool {
    terms.expect.digests.isEmpty && object.digests.isEmpty && terms.verify != .size
  }

  /// A digest of the whole is compared: a mixture of two versions comes to light.
  private var isWholeProved: Bool {
    !terms.expect.digests.isEmpty || !object.digests.isEmpty && terms.verify != .size
  }

  /// The digest that is to prove an answer's bytes: where nothing will prove the whole, or where that has failed.
  mutating func promise(of opening: Opening) -> RangeDigest? {
    guard case .bytes(let range) = opening.extent, provesRanges || isUnproved else { return nil }
    // Everything in one answer says nothing of how ranges are answered.
    if opening.digest == nil, range.lowerBound == 0, range.upperBound == opening.seen.size { return nil }
    hasRangeDigests = opening.digest != nil
    return opening.digest
  }

  /// Judges an answer by its head, before a byte of it is used.
  mutating func opened(_ opening: Opening, wanted: Range<Int64>?) -> Reception {
    var seen = opening.seen
    guard opening.extent != .changed, object.isSameVersion(as: seen) else {
      guard object.hasStrongETag, seen.etag == object.etag, contradiction == nil else {
        return .refuse(changed(seen))
      }
      // One version with two sizes, or two digests: most likely a wrong header, so it is asked once more before it is believed.
      contradiction = seen
      return .refuse(twoDigests(seen, .transient) ?? resized(seen, .transient))
    }
    if seen.etag != nil, seen.etag == object.etag { hasCommonTag = true }
    let taken: Range<Int64>?
    switch opening.extent {
    case .changed, .nothing: taken = nil
    case .bytes(let range):
      guard seen.size != nil || object.size != nil else { return .refuse(noRanges) }
      if let untied = opening.untied, !isWholeProved { return .refuse(untied) }
      taken = range
    case .whole(let length):
      let end = length ?? object.size ?? .max
      if let wanted {
        if map.have.total > 0 {
          return .refuse(
            Failure(
              .rangeInvalid, "\(terms.place) answered a range with everything", class: .rangesUnserved,
              expected: "a range", actual: Self.everything))
        }
        if wanted.lowerBound > 0 { return .refuse(noRanges) }
        // A file of one chunk has nothing to be resumed from.
        stream(end, "the server answers a range with everything: one stream, which can't be resumed")
      }
      seen.servesRanges = object.servesRanges
      taken = 0..<(length ?? seen.size ?? object.size ?? .max)
    }
    if let failure = learn(seen) { return .refuse(failure) }
    return taken.map { .take($0) } ?? .nothing
  }

  /// Asks for everything in one answer from now on; warns of it where more than a chunk of `size` bytes is affected.
  mutating func stream(_ size: Int64, _ warning: String) {
    if size > chunkSize { warn(warning) }
    isRanged = false
    object.servesRanges = false
  }

  /// Asks for everything in one answer, as nothing tells whether ranges belong together.
  mutating func streamUntied() {
    isRanged = false
    warn("no strong validator and no digest tells whether ranges belong together: one stream")
    startOver(.streamBroke)
  }

  /// Whether a range is asked for again that came without the strong ETag which ties it to others, or as everything although
  /// ranges are here: one back end of many may not tell the tag, or serve no ranges.
  ///
  /// - Parameter untied: such answers to it before.
  static func asksAgain(after failure: Failure, untied: Int) -> Bool {
    guard failure.class == .rangesUnserved, failure.expected != nil else { return false }
    // Before a server hears that nobody wants everything, it has sent some of it.
    return untied < (failure.actual == everything ? 1 : 2)
  }

  private var noRanges: Failure {
    Failure(.rangeInvalid, "\(terms.place) does not serve ranges", class: .rangesUnserved)
  }

  private func resized(_ seen: RemoteObject, _ failureClass: FailureClass) -> Failure {
    Failure(
      .rangeInvalid, "\(terms.place) tells another size than before under the same ETag",
      class: failureClass, expected: object.size.map(String.init), actual: seen.size.map(String.init))
  }

  /// One strong ETag with two digests: nothing says that the object changed, nor which of them is right.
  private func twoDigests(_ seen: RemoteObject, _ failureClass: FailureClass) -> Failure? {
    guard object.hasStrongETag, seen.etag == object.etag, seen.size == nil || seen.size == object.size
    else { return nil }
    for (algorithm, digest) in object.digests {
      guard let told = seen.digests[algorithm], told != digest else { continue }
      return Failure(
        .protocolViolation,
        "\(terms.place) tells another \(algorithm.rawValue) than before under the same ETag",
        class: failureClass, expected: digest, actual: told)
    }
    return nil
  }

  /// What was recorded belongs to another object than the one that was seen now.
  func changed(_ seen: RemoteObject) -> Failure {
    if let failure = twoDigests(seen, .objectChanged) { return failure }
    if object.hasStrongETag, seen.etag == object.etag, seen.size != object.size {
      return resized(seen, .objectChanged)
    }
    return Failure(
      .remoteChanged, "\(terms.place) changed while it was read", class: .objectChanged,
      expected: object.etag,
      actual: seen.etag)
  }

  /// Takes in what is told of the object.
  ///
  /// - Returns: why it can't come out right.
  mutating func learn(_ seen: RemoteObject) -> Failure? {
    let (known, expect) = (object, terms.expect)
    object.learn(seen)
    guard known == RemoteObject() || recorded.remote != known || object != known else { return nil }
    if let size = object.size {
      if let wanted = expect.size, wanted != size {
        note(.checked(Verification("size", .manifest, .mismatch)))
        return Failure(
          .lengthMismatch, "\(terms.place) has \(size) bytes, \(wanted) are expected",
          expected: String(wanted), actual: String(size))
      }
      layOut(size)
    }
    if let coding = object.contentEncoding, known.contentEncoding == nil {
      warn("the server sends the file with Content-Encoding `\(coding)`; its bytes are kept as they come")
    }
    if object.digests.isEmpty, expect.digests.isEmpty {
      if known == RemoteObject(), !terms.promisedDigests.isEmpty {
        warn("the server gives no digest of this file: only its size can be checked")
      }
      if !terms.firstRangeDescribes, let unverifiable { return unverifiable }
    }
    note(.learned(object))
    // What comes in one chunk leaves no record that would need this one.
    if recorded.chunksTotal != 1 { effects.append(.save) }
    return nil
  }

  /// The first range has come, and told no digest, as the object goes on behind it.
  var isToBeDescribed: Bool { terms.firstRangeDescribes && object.digests.isEmpty && !isComplete }

  /// Takes in what was asked for behind the first range: the digests come too late for its bytes.
  mutating func learnDigests(_ seen: RemoteObject) -> Failure? {
    let known = object.digests
    let failure = learn(seen)
    if object.digests != known { effects.append(.hashAnew) }
    return failure
  }

  /// Takes in digests that were asked for alone, before a byte has come.
  mutating func learn(digests: [DigestAlgorithm: String]) {
    guard !digests.isEmpty else { return }
    object.digests.merge(digests) { old, _ in old }
    note(.learned(object))
    effects.append(.save)
  }

  /// Why `verify: required` can't be met by what is known; nil where it can.
  var unverifiable: Failure? {
    guard terms.verify == .required, object.digests.isEmpty, terms.expect.digests.isEmpty else { return nil }
    return Failure(
      .digestUnavailable, "neither the manifest nor \(terms.place) gives a digest to verify against")
  }

  private mutating func layOut(_ size: Int64) {
    chooseChunkSize(size)
    note(.laidOut(chunks: ChunkLayout(size: size, chunkSize: chunkSize).count))
    note(.sized(size))
  }

  /// What `auto` comes to is chosen anew where nothing is kept that came in other chunks.
  private mutating func chooseChunkSize(_ size: Int64) {
    guard terms.chunkSize == .auto, recorded.automaticChunk == nil || map.have.total == 0 else { return }
    note(.chosen(chunk: terms.chunkSize.bytes(of: size, chosen: nil, rate: terms.rate)))
  }

  // MARK: Taking bytes in

  /// A chunk has begun to come, and so much of it is written: its record grows until it is whole.
  mutating func begun(_ part: ChunkRecord) {
    // Of which object it is goes before it, where `learn` has saved nothing.
    if recorded.chunksTotal == 1, map.have.total == 0 { effects.append(.save) }
    map.add(part)
    effects.append(.keep(part))
  }

  /// A chunk is written, and proved as far as it can be.
  mutating func received(_ chunk: ChunkRecord) {
    map.add(chunk)
    effects.append(.wrote(chunk.range, contiguous: map.have.contiguous))
    // A file of one chunk goes straight to its verification: a record would outlive its use by a moment.
    if chunk.length == object.size {
      map.unrecorded = chunk
      return effects.append(.tellWhole)
    }
    let (end, first) = (chunk.range.upperBound, chunk.offset / chunkSize * chunkSize)
    let isWhole = (end % chunkSize == 0 || end == object.size) && map.have.contains(first..<end)
    // A part of a file's only chunk, for which `learn` has saved nothing: of which object it is goes before it.
    if recorded.chunksTotal == 1 { effects.append(.save) }
    effects.append(
      .record(chunk, index: Int(first / chunkSize), completing: isWhole ? end - first : nil))
  }

  /// A read is over, and all of it is here.
  ///
  /// - Parameters:
  ///   - written: its bytes, where nobody told their number before.
  ///   - busy: of its time, the share that the network thread computed in; nil where it was too short to tell.
  mutating func finished(written: Int64?, busy: Double?) {
    if let written, object.size == nil { (object.size, isSizeCounted) = (written, true) }
    self.busy = busy ?? self.busy
  }

  /// A check that failed: where nobody told the body's length, a wrong size or type may be that of one that was cut.
  func checked(_ failure: Failure) -> Failure {
    guard isSizeCounted, [.lengthMismatch, .typeMismatch].contains(failure.code) else { return failure }
    return failure.classed(.damaged(chunk: nil))
  }

  /// A read failed, and may be tried again.
  ///
  /// - Parameter run: nil where everything was asked for.
  mutating func broke(_ failure: Failure, _ run: Range<Int64>?) {
    // All starts over, once nothing is on its way any more.
    if failure.class == .rangesUnserved || failure.class == .objectChanged { return }
    // A stream that can't be resumed keeps nothing, so nothing it got counts as progress; nor do bytes of an object
    // that no version is told of, as those after the break may be another one's.
    if run == nil || !isRanged || !canSplit { startOver(.streamBroke) }
  }

  // MARK: Beginning again

  /// Takes up what an earlier attempt left.
  ///
  /// - Parameters:
  ///   - records: of its chunks.
  ///   - hasPart: the part file is there; what it holds of them is told by `vouched`.
  mutating func resume(_ progress: TransferProgress, _ records: [ChunkRecord], hasPart: Bool) {
    recorded = Known(
      remote: progress.remote, chunkSize: progress.chunkSize, automaticChunk: progress.automaticChunk,
      chunksTotal: progress.chunksTotal, freshStarts: progress.freshStarts)
    object = records.isEmpty ? RemoteObject() : progress.remote
    guard hasPart else { return startOver(.partGone) }
    map.takeUp(records)
    recorded.useful = min(map.reused, progress.transferred - progress.discarded)
    effects.append(.forget([]))
    note(.resumed(bytes: map.reused, chunks: wholeChunks ?? records.count))
  }

  /// Chunks that are here whole; nil where the size is unknown.
  private var wholeChunks: Int? { object.size.map { map.chunks(size: $0, chunkSize: chunkSize) } }

  /// The part file holds these of the records that were taken up: the others are fetched again.
  mutating func vouched(_ good: [ChunkRecord]) {
    let records = map.unvouched
    let lost = map.keep(good)
    guard !lost.isEmpty else { return }
    effects.append(.forget(lost))
    warn("\(lost.count) of \(records.count) recorded chunks are damaged on disk and fetched again")
    note(
      .spoilt(
        bytes: lost.reduce(0) { $0 + $1.length }, chunks: lost.count { $0.length == chunkSize },
        discarded: max(0, recorded.useful - map.reused)))
  }

  /// Forgets the chunks that are not among the good ones, and gives those.
  private mutating func forget(_ records: [ChunkRecord], but good: [ChunkRecord]) -> [ChunkRecord] {
    let kept = Set(good.map(\.offset))
    let lost = records.filter { !kept.contains($0.offset) }
    map = RangeMap()
    map.restore(good)
    effects.append(.forget(lost))
    return lost
  }

  /// Fetches again what is not among the good chunks.
  mutating func mend(_ records: [ChunkRecord], good: [ChunkRecord]) {
    for chunk in forget(records, but: good) { note(.dropped(chunk.length)) }
  }

  mutating func startOver(_ reason: RestartReason) {
    map = RangeMap()
    effects.append(.startOver(reason))
  }

  /// Goes on with a version that is not the newest.
  mutating func pin(_ version: RemoteObject) {
    object = version
    note(.learned(version))
    effects.append(.save)
    warn(
      "the remote object changed: its version \(version.version ?? ""), which was begun with, is fetched on")
  }

  /// Another object was begun with in this run.
  var hasBegunAnew: Bool { recorded.freshStarts & Self.anew != 0 }
  /// After a mismatch everything was fetched once more in this run.
  var hasBegunSmaller: Bool { recorded.freshStarts & Self.smaller != 0 }
  /// What is in `freshStarts`: a run does each once, and neither counts for the other.
  private static let (anew, smaller) = (1, 2)

  /// Begins with another object.
  mutating func beginAnew() {
    note(.startedAfresh(times: recorded.freshStarts | Self.anew))
    warn("the remote object changed: what was received of the old one is discarded")
    (object, isSizeCounted) = (RemoteObject(), false)
    startOver(.contentChanged)
  }

  /// Takes the tags of the metadata and of the bytes for two kinds where the same two differ again, after the object was begun
  /// anew: one may be a revision's, the other that of a store behind the server. The digest then proves what belongs together.
  ///
  /// - Returns: false where the object is another one.
  mutating func setTagsApart(after failure: Failure) -> Bool {
    let before = contested
    contested = nil
    guard failure.code == .remoteChanged, let told = failure.expected, let came = failure.actual,
      told == object.etag, told != came, !hasCommonTag, !object.digests.isEmpty, isWholeProved
    else { return false }
    contested = (told, came)
    guard let before, before.told == told, before.came == came else { return false }
    object.etag = nil
    object.hasTagsApart = true
    note(.learned(object))
    effects.append(.save)
    warn("the ETag of the file's metadata is not that of its bytes: its digest alone tells its version")
    return true
  }

  /// Begins with smaller chunks.
  mutating func beginSmaller(_ size: Int64, after mismatch: Failure) {
    note(.startedAfresh(times: recorded.freshStarts | Self.smaller))
    warn("\(mismatch.message); everything is fetched once more, in smaller chunks")
    note(.chunked(min(chunkSize, max(65_536, chunkSize / 4))))
    // A body that may have been cut says nothing of the next one's length.
    if isSizeCounted { (object.size, isSizeCounted) = (nil, false) }
    startOver(.damaged)
    note(.laidOut(chunks: ChunkLayout(size: size, chunkSize: chunkSize).count))
  }

  /// The file took its destination's name.
  mutating func promoted(_ facts: FileFacts) {
    chooseChunkSize(facts.size)
    effects.append(.promoted(facts, chunks: ChunkLayout(size: facts.size, chunkSize: chunkSize).count))
    map = RangeMap()
  }

  /// Nothing that came is of use any more.
  mutating func dropBytes() { map = RangeMap() }

  mutating func warn(_ message: String) { effects.append(.warn(message)) }

  private mutating func note(_ event: ProgressEvent) {
    switch event {
    case .learned(let object): recorded.remote = object
    case .chunked(let bytes): recorded.chunkSize = bytes
    case .chosen(let bytes): recorded.automaticChunk = bytes
    case .laidOut(let chunks): recorded.chunksTotal = chunks
    case .startedAfresh(let times): recorded.freshStarts = times
    default: break
    }
    effects.append(.note(event))
  }
}
