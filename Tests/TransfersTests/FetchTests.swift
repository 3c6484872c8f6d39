import Endpoints
import JobModel
import Testing

@testable import Transfers

/// What an answer's head means, what is asked for next, and what is recorded of what comes.
struct FetchTests: FetchCase {
  /// One that knows an object, of which these chunks are here.
  private func fetch(
    _ known: RemoteObject, _ terms: Fetch.Terms? = nil, here: Range<Int64>...,
    change: (inout TransferProgress) -> Void = { _ in }
  ) -> Fetch {
    var fetch = Fetch(terms ?? self.terms())
    let records = here.map(chunk)
    fetch.resume(
      recorded(known, change), records.isEmpty ? [chunk(0..<1)] : records, hasPart: true)
    fetch.vouched(records)
    _ = fetch.takeEffects()
    return fetch
  }

  struct Response: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var known: RemoteObject
    var here: Range<Int64>? = nil
    var opening: Opening
    var wanted: Range<Int64>? = 0..<10
    var code: ErrorCode?
    var failure: FailureClass?
    var taken: Range<Int64>?
  }

  @Test(arguments: responses) func answersAreJudged(_ response: Response) {
    var fetch = response.here.map { self.fetch(response.known, here: $0) } ?? self.fetch(response.known)
    switch fetch.opened(response.opening, wanted: response.wanted) {
    case .take(let range): #expect(range == response.taken)
    case .nothing: #expect(response.taken == nil && response.code == nil)
    case .refuse(let failure): #expect(failure.code == response.code && failure.class == response.failure)
    }
  }

  private static let some: RemoteObject = {
    var object = RemoteObject()
    object.size = 105
    object.etag = "\"1\""
    return object
  }()
  private static let other: RemoteObject = {
    var object = some
    object.etag = "\"2\""
    return object
  }()
  private static let resized: RemoteObject = {
    var object = some
    object.size = 106
    return object
  }()
  private static let unsized: RemoteObject = {
    var object = some
    object.size = nil
    return object
  }()

  static let responses: [Response] = [
    Response(
      testDescription: "a range", known: some, opening: Opening(.bytes(0..<10), seen: some), taken: 0..<10),
    Response(
      testDescription: "less than was asked for", known: some, opening: Opening(.bytes(0..<4), seen: some),
      taken: 0..<4),
    Response(
      testDescription: "a range of a size that nobody tells", known: RemoteObject(),
      opening: Opening(.bytes(0..<10), seen: unsized), code: .rangeInvalid, failure: .rangesUnserved),
    Response(
      testDescription: "a range of a size that is known", known: some,
      opening: Opening(.bytes(0..<10), seen: unsized), taken: 0..<10),
    Response(
      testDescription: "another object", known: some, opening: Opening(.bytes(0..<10), seen: other),
      code: .remoteChanged, failure: .objectChanged),
    Response(
      testDescription: "said to be another one", known: some, opening: Opening(.changed, seen: other),
      code: .remoteChanged, failure: .objectChanged),
    Response(
      testDescription: "another size under the same ETag", known: some,
      opening: Opening(.bytes(0..<10), seen: resized), code: .rangeInvalid, failure: .transient),
    Response(
      testDescription: "all of it where a range was asked for", known: some,
      opening: Opening(.whole(length: 105), seen: some), taken: 0..<105),
    Response(
      testDescription: "all of it, without a length", known: RemoteObject(),
      opening: Opening(.whole(length: nil), seen: unsized), wanted: nil, taken: 0..<Int64.max),
    Response(
      testDescription: "all of it where some is here", known: some, here: 0..<10,
      opening: Opening(.whole(length: 105), seen: some), wanted: 10..<20, code: .rangeInvalid,
      failure: .rangesUnserved),
    Response(
      testDescription: "all of it where a later range was asked for", known: some,
      opening: Opening(.whole(length: 105), seen: some), wanted: 10..<20, code: .rangeInvalid,
      failure: .rangesUnserved),
    Response(testDescription: "nothing", known: RemoteObject(), opening: Opening(.nothing, seen: unsized)),
  ]

  /// Under one ETag a second answer with the other size is believed.
  @Test func aSizeIsDoubtedOnce() {
    var fetch = fetch(object())
    let opening = Opening(.bytes(0..<10), seen: object(106))
    for expected in [FailureClass.transient, .objectChanged] {
      guard case .refuse(let failure) = fetch.opened(opening, wanted: 0..<10) else {
        Issue.record("it is taken")
        return
      }
      #expect(failure.class == expected)
    }
  }

  /// Nor is another digest under one ETag a change of the object: both are told.
  @Test func aDigestIsDoubtedOnce() {
    var fetch = fetch(object { $0.digests = [.sha256: "aa"] })
    let opening = Opening(.bytes(0..<10), seen: object { $0.digests = [.sha256: "bb"] })
    for expected in [FailureClass.transient, .objectChanged] {
      guard case .refuse(let failure) = fetch.opened(opening, wanted: 0..<10) else {
        Issue.record("it is taken")
        return
      }
      #expect(failure.class == expected && failure.code == .protocolViolation)
      #expect(failure.expected == "aa" && failure.actual == "bb")
    }
  }

  /// From a server that answers a range with everything no range is asked for again, which is warned of where it matters.
  @Test(arguments: [(5, 0), (105, 1)] as [(Int64, Int)]) func aServerWithoutRanges(
    _ size: Int64, _ warnings: Int
  ) {
    var fetch = Fetch(terms())
    #expect(
      fetch.opened(Opening(.whole(length: size), seen: object(size)), wanted: 0..<10) == .take(0..<size))
    #expect(!fetch.isRanged && fetch.object.servesRanges == false && !fetch.canSplit)
    #expect(fetch.takeEffects().count { if case .warn = $0 { true } else { false } } == warnings)
  }

  @Test func whatIsLearnedIsRecordedOnce() {
    var fetch = Fetch(terms())
    #expect(fetch.learn(object()) == nil)
    #expect(
      fetch.takeEffects() == [
        .note(.laidOut(chunks: 11)), .note(.sized(105)), .note(.learned(object())), .save,
      ])
    #expect(fetch.learn(object()) == nil && fetch.takeEffects().isEmpty)
    // One chunk leaves no record that would need this one.
    var small = Fetch(terms())
    #expect(small.learn(object(7)) == nil)
    #expect(small.takeEffects().last == .note(.learned(object(7))))
  }

  @Test func whatCannotComeRightIsRefusedEarly() {
    var sized = Fetch(terms { $0.expect = JobModel.Expectation(size: 5) })
    #expect(sized.learn(object())?.code == .lengthMismatch)
    #expect(sized.takeEffects() == [.note(.checked(Verification("size", .manifest, .mismatch)))])
    var strict = Fetch(terms { $0.verify = .required })
    #expect(strict.learn(object())?.code == .digestUnavailable)
    #expect(strict.learn(object { $0.digests = [.md5: "00"] }) == nil)
  }

  @Test func whatAServerLacksIsWarnedOf() {
    var fetch = Fetch(terms { $0.promisedDigests = [.sha256] })
    _ = fetch.learn(object { $0.contentEncoding = "gzip" })
    let warnings = fetch.takeEffects().filter { if case .warn = $0 { true } else { false } }
    #expect(warnings.count == 2)
  }

  @Test func rangesAreJoinedWhereSomethingTiesThem() {
    #expect(fetch(object()).canSplit)
    #expect(!fetch(object(etag: "W/\"1\"")).canSplit && !fetch(object(etag: nil)).canSplit)
    #expect(fetch(object(etag: nil) { $0.version = "7" }).canSplit)
    #expect(fetch(object(etag: nil) { $0.digests = [.md5: "00"] }).canSplit)
    let told = terms { $0.expect = JobModel.Expectation(digests: [.md5: "00"]) }
    #expect(fetch(object(etag: nil), told).canSplit)
    #expect(!fetch(object { $0.servesRanges = false }).canSplit)
  }

  /// A chunk server tells the ETag and the digest beforehand, and need not repeat the ETag with each range.
  @Test(
    arguments: [
      (VerifyLevel.available, true, false, true), (.required, true, false, true), (.size, true, false, false),
      (.available, false, false, false), (.size, false, true, true),
    ] as [(VerifyLevel, Bool, Bool, Bool)]) func untiedRangesAreTakenWhereTheWholeIsProved(
      _ level: VerifyLevel, _ isTold: Bool, _ isExpected: Bool, _ isTaken: Bool
    )
  {
    let untied = Failure(.rangeInvalid, "no ETag", class: .rangesUnserved)
    let digests: [DigestAlgorithm: String] = [.sha256: "00"]
    let told = terms {
      $0.verify = level
      $0.expect = JobModel.Expectation(digests: isExpected ? digests : [:])
    }
    var fetch = fetch(object { $0.digests = isTold ? digests : [:] }, told)
    let opening = Opening(.bytes(0..<10), seen: object(etag: nil), untied: untied)
    let expected: Fetch.Reception = isTaken ? .take(0..<10) : .refuse(untied)
    #expect(fetch.opened(opening, wanted: 0..<10) == expected)
    #expect(!isTaken || fetch.canSplit && fetch.isRanged)
  }

  @Test func runsAreTakenAsTheNetworkThreadHasTime() {
    var fetch = fetch(object { $0.digests = [.sha256: "00"] }, here: 0..<10)
    #expect(fetch.takeRun(size: 105, active: 4) == nil, "as many as the policy allows")
    #expect(fetch.takeRun(size: 105, active: 0) == 10..<20)
    fetch.finished(written: nil, busy: 0.9)
    #expect(fetch.takeRun(size: 105, active: 1) == nil, "another connection would bring none sooner")
    #expect(fetch.takeRun(size: 105, active: 0) == 20..<60)
    fetch.finished(written: nil, busy: 0.1)
    fetch.giveBack(10..<20)
    #expect(fetch.takeRun(size: 105, active: 1) == 10..<20)
  }

  /// A server that ignores ranges would begin to send everything for each.
  @Test func whoPromisesNoRangesIsAskedForOneFirst() {
    var fetch = fetch(object { $0.digests = [.md5: "00"] }, terms { $0.promisesRanges = false })
    #expect(fetch.takeRun(size: 105, active: 0) == 0..<10)
    #expect(fetch.takeRun(size: 105, active: 1) == nil)
    let answer = Opening(.bytes(0..<10), seen: object { $0.servesRanges = true })
    guard case .take(0..<10) = fetch.opened(answer, wanted: 0..<10) else {
      Issue.record("the range was refused")
      return
    }
    #expect(fetch.takeRun(size: 105, active: 1) != nil)
  }

  /// Where nothing but an answer's own digest proves it, a run is a chunk, until a server has shown that it gives none.
  @Test func whatProvesItselfComesInChunks() {
    func first(_ fetch: Fetch) -> Range<Int64>? {
      var fetch = fetch
      return fetch.takeRun(size: 105, active: 0)
    }
    var fetch = fetch(object(), terms { $0.chunksInFlight = 1 })
    #expect(first(fetch) == 0..<10)
    let digest = RangeDigest(.sha256, "00")
    #expect(fetch.promise(of: Opening(.whole(length: 105), seen: object(), digest: digest)) == nil)
    #expect(fetch.promise(of: Opening(.bytes(0..<105), seen: object())) == nil)
    #expect(first(fetch) == 0..<10, "everything in one answer says nothing of ranges")
    #expect(fetch.promise(of: Opening(.bytes(0..<10), seen: object())) == nil)
    #expect(first(fetch) == 0..<50)
    #expect(fetch.promise(of: Opening(.bytes(0..<10), seen: object(), digest: digest)) == digest)
    #expect(first(fetch) == 0..<10)
    // A digest of the whole file does without.
    fetch = self.fetch(object { $0.digests = [.sha256: "00"] })
    #expect(fetch.promise(of: Opening(.bytes(0..<10), seen: object(), digest: digest)) == nil)
    fetch.repair = .ranges
    #expect(fetch.promise(of: Opening(.bytes(0..<10), seen: object(), digest: digest)) == digest)
  }

  @Test func whatIsMissingOfARun() {
    #expect(fetch(object(), here: 0..<3).missing(in: 0..<10) == 3..<10)
    #expect(fetch(object(), here: 0..<10).missing(in: 0..<10) == nil)
    #expect(fetch(object(4)).missing(in: 0..<10) == 0..<4)
    #expect(fetch(RemoteObject()).missing(in: 0..<10) == 0..<10)
    #expect(fetch(object(0)).missing(in: 0..<10) == nil)
  }

  @Test func chunksAreRecordedAsTheyEnd() {
    var fetch = fetch(object()) { $0.chunksTotal = 11 }
    fetch.received(chunk(10..<14))
    #expect(
      fetch.takeEffects() == [
        .wrote(10..<14, contiguous: 0), .record(chunk(10..<14), index: 1, completing: nil),
      ])
    fetch.received(chunk(14..<20))
    #expect(fetch.takeEffects().last == .record(chunk(14..<20), index: 1, completing: 10))
    fetch.received(chunk(100..<105))
    #expect(fetch.takeEffects().last == .record(chunk(100..<105), index: 10, completing: 5))
    // The only chunk is told once it is written, and recorded where its verification does not follow.
    var small = self.fetch(object(7)) { $0.chunksTotal = 1 }
    small.received(chunk(0..<7))
    #expect(small.takeEffects() == [.wrote(0..<7, contiguous: 7), .tellWhole])
    #expect(small.map.unrecorded == chunk(0..<7) && small.isComplete)
    var broken = self.fetch(object(7)) { $0.chunksTotal = 1 }
    broken.received(chunk(0..<5))
    #expect(
      broken.takeEffects() == [
        .wrote(0..<5, contiguous: 5), .save, .record(chunk(0..<5), index: 0, completing: nil),
      ])
  }

  /// The record of a chunk that is coming grows with it, and is no chunk of its own.
  @Test func aChunkIsRecordedWhileItComes() {
    var fetch = fetch(object()) { $0.chunksTotal = 11 }
    fetch.begun(chunk(10..<13))
    fetch.begun(chunk(10..<16))
    #expect(fetch.takeEffects() == [.keep(chunk(10..<13)), .keep(chunk(10..<16))])
    #expect(fetch.missing(in: 10..<20) == 16..<20 && fetch.map.records == 1)
    fetch.received(chunk(10..<20))
    #expect(fetch.takeEffects().last == .record(chunk(10..<20), index: 1, completing: 10))
    #expect(fetch.map.records == 1)
    // Of a file's only chunk, of which object it is goes before it.
    var small = self.fetch(object(7)) { $0.chunksTotal = 1 }
    small.begun(chunk(0..<3))
    small.begun(chunk(0..<4))
    #expect(small.takeEffects() == [.save, .keep(chunk(0..<3)), .keep(chunk(0..<4))])
  }

  /// What earlier attempts left counts until it is compared with the disk.
  @Test func onlyWholeChunksAreReused() {
    var fetch = Fetch(terms())
    fetch.resume(recorded(object()), [chunk(0..<10), chunk(10..<14), chunk(20..<23)], hasPart: true)
    #expect(fetch.takeEffects().last == .note(.resumed(bytes: 17, chunks: 1)))
    // A part is made whole by another record; its bytes on the disk are checked apart.
    fetch.received(chunk(14..<20))
    _ = fetch.takeEffects()
    fetch.vouched([chunk(0..<10), chunk(20..<23)])
    #expect(fetch.map.have.ranges == [0..<10, 14..<23] && fetch.map.arrived == 6)
    #expect(fetch.takeEffects().last == .note(.spoilt(bytes: 4, chunks: 0, discarded: 0)))
  }

  /// What broke off is gone on with where ranges are served of one version; else it starts over.
  @Test func whatABreakLeaves() {
    let fault = Failure(.networkUnreachable, "broken")
    func left(_ fetch: Fetch, _ failure: Failure, _ run: Range<Int64>?) -> Int64 {
      var fetch = fetch
      fetch.broke(failure, run)
      #expect(fetch.takeEffects() == (fetch.map.have.total == 0 ? [.startOver(.streamBroke)] : []))
      return fetch.map.have.total
    }
    #expect(left(fetch(object(), here: 0..<10), fault, 10..<20) == 10)
    #expect(left(fetch(object(), here: 0..<10), fault, nil) == 0)
    #expect(left(fetch(object(etag: nil), here: 0..<10), fault, 10..<20) == 0)
    // Others may still be on their way.
    for meaning in [FailureClass.rangesUnserved, .objectChanged] {
      #expect(left(fetch(object(), here: 0..<10), fault.classed(meaning), nil) == 10)
    }
  }

  @Test func damagedChunksAreForgotten() {
    var fetch = Fetch(terms())
    let run = recorded(object()) { ($0.transferred, $0.discarded) = (22, 5) }
    fetch.resume(run, [chunk(0..<10), chunk(10..<20)], hasPart: true)
    #expect(fetch.takeEffects() == [.forget([]), .note(.resumed(bytes: 20, chunks: 2))])
    #expect(fetch.object == object() && fetch.map.unvouched.count == 2)
    fetch.vouched([chunk(0..<10)])
    let effects = fetch.takeEffects()
    #expect(effects.first == .forget([chunk(10..<20)]) && effects.count == 3)
    // Of 17 bytes that this run had moved and that counted, 10 are left.
    #expect(effects.last == .note(.spoilt(bytes: 10, chunks: 1, discarded: 7)))
    #expect(fetch.map.have.ranges == [0..<10] && fetch.map.unvouched.isEmpty)
    fetch.mend([chunk(0..<10), chunk(20..<30)], good: [chunk(20..<30)])
    #expect(fetch.takeEffects() == [.forget([chunk(0..<10)]), .note(.dropped(10))])
    #expect(fetch.map.have.ranges == [20..<30])
  }

  /// What nobody told is what came; `auto` is chosen with the size, and kept while chunks are.
  @Test func sizes() {
    var fetch = Fetch(terms { $0.chunkSize = .auto })
    fetch.finished(written: 7, busy: nil)
    #expect(fetch.object.size == 7 && fetch.isSizeCounted)
    fetch.finished(written: 8, busy: nil)
    #expect(fetch.object.size == 7, "it was known")
    #expect(fetch.learn(object(20_000 << 20)) == nil)
    #expect(fetch.takeEffects().first == .note(.chosen(chunk: 20 << 20)) && fetch.chunkSize == 20 << 20)
    var kept = self.fetch(object(), terms { $0.chunkSize = .auto }, here: 0..<10) {
      $0.automaticChunk = 33
    }
    #expect(kept.learn(object { $0.version = "2" }) == nil)
    #expect(kept.chunkSize == 33)
  }
}
