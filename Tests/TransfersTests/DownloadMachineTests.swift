import Endpoints
import JobModel
import Testing

@testable import Transfers

/// What follows each event in each phase of a download.
struct DownloadMachineTests: FetchCase {
  typealias Step = DownloadMachine.Step

  /// Where a machine is before the event in question.
  enum Point: CaseIterable, Sendable {
    case settling, resuming, describing, sizing, identifying, moving, verifying, repairing, promoting, ended
  }

  private let damage = Failure(.integrityMismatch, "damaged")

  /// A machine that has come so far with an object of 105 bytes, of which two chunks are here.
  private func machine(_ place: Point, _ terms: Fetch.Terms? = nil) -> DownloadMachine {
    var machine = DownloadMachine(terms ?? self.terms())
    func told(_ events: DownloadMachine.Event...) -> DownloadMachine {
      for event in events { _ = machine.next(event) }
      _ = machine.fetch.takeEffects()
      return machine
    }
    let records = [chunk(0..<10), chunk(10..<20)]
    let resumed = DownloadMachine.Event.resumed(recorded(object()), records, hasPart: true)
    switch place {
    case .settling: return machine
    case .resuming: return told(.settled(nil))
    case .describing: return told(.settled(nil), resumed)
    case .sizing:
      return told(.settled(nil), .resumed(TransferProgress(), [], hasPart: false), .described(nil))
    case .identifying:
      return told(
        .settled(nil), .resumed(TransferProgress(), [], hasPart: false), .described(object(0, etag: nil)))
    case .moving: return told(.settled(nil), resumed, .described(nil))
    case .verifying: return told(.settled(nil), resumed, .described(nil), .fetched)
    case .repairing:
      return told(.settled(nil), resumed, .described(nil), .fetched, .failed(damage, hasBytes: true))
    case .promoting: return told(.settled(nil), resumed, .described(nil), .fetched, .verified)
    case .ended: return told(.settled(.finished))
    }
  }

  @Test func theStraightWay() {
    var machine = DownloadMachine(terms())
    #expect(machine.next(.settled(nil)) == .resume)
    #expect(
      machine.next(.resumed(TransferProgress(), [], hasPart: false)) == .describe(RemoteObject()))
    #expect(machine.fetch.takeEffects() == [.startOver(.partGone)])
    #expect(machine.next(.described(nil)) == .fetch(0..<10))
    #expect(machine.fetch.opened(Opening(.bytes(0..<10), seen: object()), wanted: 0..<10) == .take(0..<10))
    machine.fetch.received(chunk(0..<10))
    #expect(machine.next(.fetched) == .fetchMissing(size: 105))
    machine.fetch.received(chunk(10..<105))
    #expect(machine.next(.fetched) == .verify)
    #expect(machine.next(.verified) == .promote)
    _ = machine.fetch.takeEffects()
    let facts = FileFacts(size: 105, mtime: 1, ctime: 1, inode: 7)
    #expect(machine.next(.promoted(facts)) == .end(.finished))
    #expect(machine.fetch.takeEffects() == [.promoted(facts, chunks: 11)] && machine.phase == .ended)
  }

  /// What earlier attempts left is compared with the disk beside the fetching; before the verification where it is all there is.
  @Test func whatWasLeftIsVouchedFor() {
    let records = [chunk(0..<10), chunk(10..<105)]
    var machine = machine(.resuming)
    #expect(machine.next(.resumed(recorded(object()), records, hasPart: true)) == .describe(object()))
    #expect(machine.next(.described(nil)) == .vouch)
    var spoilt = machine
    spoilt.fetch.vouched([records[1]])
    #expect(spoilt.next(.vouched) == .fetchMissing(size: 105))
    machine.fetch.vouched(records)
    #expect(machine.next(.vouched) == .verify)
    // Without a version, a part of it can't be gone on with.
    var untold = self.machine(.resuming)
    _ = untold.next(.resumed(recorded(object(etag: nil)), records, hasPart: true))
    _ = untold.next(.described(nil))
    untold.fetch.vouched([records[0]])
    #expect(untold.next(.vouched) == .fetch(nil) && untold.fetch.map.have.total == 0)
  }

  /// The first range tells all of a small object; of a larger one, digests are asked for before the rest.
  @Test(arguments: [(8, VerifyLevel.available, false), (105, .available, true), (105, .required, true)])
  func theFirstRangeDescribes(_ size: Int64, _ verify: VerifyLevel, _ isDescribed: Bool) {
    var machine = DownloadMachine(
      terms {
        $0.firstRangeDescribes = true
        $0.verify = verify
      })
    _ = machine.next(.settled(nil))
    #expect(machine.next(.resumed(TransferProgress(), [], hasPart: false)) == .fetch(0..<10))
    let first = 0..<min(10, size)
    #expect(machine.fetch.opened(Opening(.bytes(first), seen: object(size)), wanted: 0..<10) == .take(first))
    machine.fetch.received(chunk(first))
    guard isDescribed else { return #expect(machine.next(.fetched) == .verify) }
    #expect(machine.next(.fetched) == .describe(object(size)))
    var other = machine
    #expect(other.next(.described(object(size, etag: "\"2\""))) == .fetch(0..<10), "it starts over")
    guard verify == .required else {
      return #expect(machine.next(.described(nil)) == .fetchMissing(size: size))
    }
    other = machine
    guard case .end(.failed(let failure)) = other.next(.described(object(size))) else {
      return #expect(Bool(false), "no digest, and none is demanded")
    }
    #expect(failure.code == .digestUnavailable)
    _ = machine.fetch.takeEffects()
    #expect(
      machine.next(.described(object(size) { $0.digests = [.crc64nvme: "00"] })) == .fetchMissing(size: size))
    #expect(machine.fetch.takeEffects().contains(.hashAnew), "hashing began without it")
  }

  /// A small object without a digest fails at its end, where a digest is demanded.
  @Test func theFirstRangeHasNoDigest() {
    var machine = DownloadMachine(
      terms {
        $0.firstRangeDescribes = true
        $0.verify = .required
      })
    _ = machine.next(.settled(nil))
    _ = machine.next(.resumed(TransferProgress(), [], hasPart: false))
    _ = machine.fetch.opened(Opening(.bytes(0..<8), seen: object(8)), wanted: 0..<10)
    machine.fetch.received(chunk(0..<8))
    guard case .end(.failed(let failure)) = machine.next(.fetched) else {
      return #expect(Bool(false), "no digest, and none is demanded")
    }
    #expect(failure.code == .digestUnavailable)
  }

  /// Where a digest is demanded and the first range told none, HEAD is asked once: of this version, before a byte has come.
  @Test(arguments: [true, false]) func aDigestThatIsDemandedIsAskedFor(_ isSameVersion: Bool) {
    var machine = DownloadMachine(terms { $0.verify = .required })
    _ = machine.next(.settled(nil))
    _ = machine.next(.resumed(TransferProgress(), [], hasPart: false))
    #expect(machine.next(.described(nil)) == .fetch(0..<10))
    let reception = machine.fetch.opened(Opening(.bytes(0..<10), seen: object()), wanted: 0..<10)
    guard case .refuse(let failure) = reception else {
      return #expect(Bool(false), "bytes that nothing can prove are taken")
    }
    #expect(failure.code == .digestUnavailable)
    #expect(machine.next(.failed(failure, hasBytes: false)) == .probe)
    var silent = machine
    #expect(silent.next(.probed(nil)) == .end(.failed(failure)))
    let told = object(etag: isSameVersion ? "\"1\"" : "\"2\"") { $0.digests = [.sha256: "00"] }
    let step = machine.next(.probed(told))
    #expect(step == (isSameVersion ? .fetchMissing(size: 105) : .end(.failed(failure))))
    // An answer that brings everything tells what HEAD would.
    var whole = self.machine(.sizing, terms { $0.verify = .required })
    guard
      case .refuse(let last) = whole.fetch.opened(Opening(.whole(length: 5), seen: object(5)), wanted: 0..<10)
    else { return #expect(Bool(false), "bytes that nothing can prove are taken") }
    #expect(whole.next(.failed(last, hasBytes: false)) == .end(.failed(last)))
  }

  struct Cell: Sendable, CustomTestStringConvertible {
    var place: Point
    var event: DownloadMachine.Event
    var step: Step
    var effects: [Fetch.Effect] = []
    var testDescription: String { "\(place): \(event)" }
  }

  private static let object: RemoteObject = {
    var object = RemoteObject()
    object.size = 105
    object.etag = "\"1\""
    return object
  }()
  private static let transient = Failure(.timeout, "late")

  static let cells: [Cell] = [
    Cell(place: .settling, event: .settled(.skipped(.exists)), step: .end(.skipped(.exists))),
    Cell(
      place: .settling, event: .failed(transient, hasBytes: false), step: .end(.failed(transient))),
    Cell(place: .resuming, event: .failed(transient, hasBytes: false), step: .end(.failed(transient))),
    Cell(place: .describing, event: .described(nil), step: .fetchMissing(size: 105)),
    Cell(place: .describing, event: .described(object), step: .fetchMissing(size: 105)),
    Cell(place: .describing, event: .failed(transient, hasBytes: true), step: .end(.failed(transient))),
    Cell(place: .identifying, event: .probed(nil), step: .verify),
    Cell(place: .moving, event: .fetched, step: .verify),
    Cell(place: .moving, event: .failed(transient, hasBytes: true), step: .end(.failed(transient))),
    Cell(place: .verifying, event: .verified, step: .promote),
    Cell(place: .verifying, event: .failed(transient, hasBytes: true), step: .end(.failed(transient))),
    Cell(place: .repairing, event: .failed(transient, hasBytes: true), step: .end(.failed(transient))),
    Cell(place: .promoting, event: .failed(transient, hasBytes: true), step: .end(.failed(transient))),
  ]

  /// A server that refuses ranges answers 416 to the first byte, too.
  @Test func whatWasTakenForEmptyHasBytes() {
    var machine = machine(.identifying)
    guard case .end(.failed(let failure)) = machine.next(.probed(Self.object)) else {
      return #expect(Bool(false), "an empty file in place of 105 bytes")
    }
    #expect(failure.code == .rangeInvalid && failure.actual == "105")
    var (other, empty) = (self.machine(.identifying), Self.object)
    empty.size = 0
    #expect(other.next(.probed(empty)) == .verify && other.fetch.object.etag == "\"1\"")
  }

  @Test(arguments: cells) func table(_ cell: Cell) {
    var machine = machine(cell.place)
    #expect(machine.next(cell.event) == cell.step)
    #expect(machine.fetch.takeEffects() == cell.effects)
  }

  @Test(arguments: Point.allCases) func stoppedAnywhere(_ place: Point) {
    var machine = machine(place)
    #expect(machine.next(.stopped) == .end(.stopped) && machine.phase == .ended)
  }

  /// What a phase never waits for ends the download, and says so.
  @Test(arguments: Point.allCases) func foreignEventsAreFaults(_ place: Point) {
    for event in [.verified, .fetched, .described(nil), .probed(nil)] as [DownloadMachine.Event] {
      switch (place, event) {
      case (.verifying, .verified), (.sizing, .fetched), (.moving, .fetched), (.describing, .described),
        (.identifying, .probed):
        continue
      case (_, _): break
      }
      var machine = machine(place)
      guard case .end(.failed(let failure)) = machine.next(event) else {
        Issue.record("\(place) takes \(event)")
        continue
      }
      #expect(failure.code == .internal)
    }
  }

  @Test func withoutRangesItIsOneStream() {
    let unserved = Failure(.rangeInvalid, "no ranges", class: .rangesUnserved)
    for place in [Point.describing, .sizing, .moving, .verifying] {
      var machine = machine(place)
      #expect(machine.next(.failed(unserved, hasBytes: true)) == .fetch(nil))
      #expect(machine.fetch.takeEffects().last == .startOver(.streamBroke))
      #expect(!machine.fetch.isRanged && machine.fetch.map.have.total == 0)
    }
  }

  /// Ranges that nothing ties together are not joined; what is here is fetched again.
  @Test func untiedRangesAreNotJoined() {
    var machine = machine(.sizing)
    _ = machine.fetch.opened(Opening(.bytes(0..<10), seen: object(etag: nil)), wanted: 0..<10)
    machine.fetch.received(chunk(0..<10))
    _ = machine.fetch.takeEffects()
    #expect(machine.next(.fetched) == .fetch(nil))
    #expect(machine.fetch.takeEffects().last == .startOver(.streamBroke))
  }

  /// Where one ETag goes on telling two sizes, or two digests, nothing says that the object changed.
  @Test(arguments: [ErrorCode.remoteChanged, .rangeInvalid, .protocolViolation])
  func anotherObjectIsBegunOnce(_ code: ErrorCode) {
    let changed = Failure(code, "changed", class: .objectChanged, actual: "\"2\"")
    var machine = machine(.moving)
    #expect(machine.next(.failed(changed, hasBytes: true)) == .describe(RemoteObject()))
    let effects = machine.fetch.takeEffects()
    #expect(effects.first == .note(.startedAfresh(times: 1)) && effects.last == .startOver(.contentChanged))
    #expect(machine.next(.described(object(etag: "\"2\""))) == .fetchMissing(size: 105))
    guard case .end(.failed(let failure)) = machine.next(.failed(changed, hasBytes: true)) else {
      Issue.record("it begins for ever")
      return
    }
    #expect(failure.code == code && failure.class == .permanent && failure.actual == "\"2\"")
  }

  /// What is recorded belongs to another object than the one that is described now.
  @Test func itChangedSinceTheLastAttempt() {
    var machine = machine(.describing)
    #expect(machine.next(.described(object(etag: "\"2\""))) == .describe(RemoteObject()))
    #expect(machine.fetch.takeEffects().last == .startOver(.contentChanged))
  }

  @Test func aVersionThatIsKeptIsFetchedOn() {
    let old = object { $0.version = "1" }
    var machine = machine(.moving, terms { $0.pinned = { _ in old } })
    let changed = Failure(.remoteChanged, "changed", class: .objectChanged)
    #expect(machine.next(.failed(changed, hasBytes: true)) == .describe(old))
    let effects = machine.fetch.takeEffects()
    #expect(effects.prefix(2) == [.note(.learned(old)), .save] && effects.count == 3)
    #expect(machine.fetch.map.have.total == 20, "what is here is its own")
  }

  @Test func damageWithoutBytesIsNotRepaired() {
    var machine = machine(.verifying)
    #expect(machine.next(.failed(damage, hasBytes: false)) == .end(.failed(damage)))
  }

  /// First the disk is looked at, then the server asked, then everything fetched once more, and then it has failed.
  @Test func repairsInTheirOrder() {
    let size: Int64 = 40 << 20
    let settings = terms { $0.chunkSize = .bytes(1 << 20) }
    let records = [chunk(0..<20 << 20), chunk(20 << 20..<size)]
    var machine = DownloadMachine(settings)
    _ = machine.next(.settled(nil))
    _ = machine.next(.resumed(recorded(object(size)), records, hasPart: true))
    #expect(machine.next(.described(nil)) == .vouch)
    machine.fetch.vouched(records)
    #expect(machine.next(.vouched) == .verify)
    _ = machine.fetch.takeEffects()
    // The disk.
    #expect(machine.next(.failed(damage, hasBytes: true)) == .inspect)
    #expect(machine.next(.inspected(records, good: [records[0]])) == .describe(object(size)))
    #expect(machine.fetch.takeEffects().suffix(2) == [.forget([records[1]]), .note(.dropped(20 << 20))])
    #expect(machine.next(.described(nil)) == .fetchMissing(size: size))
    machine.fetch.received(records[1])
    #expect(machine.next(.fetched) == .verify && !machine.fetch.provesRanges)
    // The server.
    #expect(machine.next(.failed(damage, hasBytes: true)) == .compare(size: size))
    #expect(machine.next(.compared(records, damaged: [0..<16 << 20])) == .describe(object(size)))
    #expect(machine.fetch.provesRanges && machine.fetch.map.have.ranges == [20 << 20..<size])
    _ = machine.next(.described(nil))
    machine.fetch.received(records[0])
    #expect(machine.next(.fetched) == .verify)
    _ = machine.fetch.takeEffects()
    // Everything, in smaller chunks.
    #expect(machine.next(.failed(damage, hasBytes: true)) == .fetchMissing(size: size))
    #expect(!machine.fetch.provesRanges && machine.fetch.chunkSize == 256 << 10)
    let effects = machine.fetch.takeEffects()
    #expect(effects.first == .note(.startedAfresh(times: 2)))
    #expect(effects.suffix(2) == [.startOver(.damaged), .note(.laidOut(chunks: 160))])
    machine.fetch.received(chunk(0..<size))
    #expect(machine.next(.fetched) == .verify)
    #expect(machine.next(.failed(damage, hasBytes: true)) == .end(.failed(damage)))
  }

  /// A file that took the name while the bytes came is settled like one that was there before.
  @Test func itsNameIsTakenMeanwhile() {
    let taken = Failure(.destinationExists, "it exists already")
    for (event, end) in [
      (.settled(.skipped(.exists)), .skipped(.exists)), (.settled(.settled(.adopted)), .settled(.adopted)),
      (.settled(nil), .failed(taken)), (.failed(Self.transient, hasBytes: true), .failed(Self.transient)),
    ] as [(DownloadMachine.Event, TransferEnd)] {
      var machine = machine(.promoting)
      #expect(machine.next(.failed(taken, hasBytes: true)) == .settleAnew)
      #expect(machine.next(event) == .end(end))
    }
  }

  /// Of a body whose length nobody told, a wrong size or type may be that of one that was cut: it is fetched once more, and
  /// is not held to that length.
  @Test(arguments: [ErrorCode.lengthMismatch, .typeMismatch, .integrityMismatch])
  func whatMayHaveBeenCutIsFetchedOnceMore(_ code: ErrorCode) {
    var machine = machine(.sizing)
    let failure = Failure(code, "wrong")
    let opening = Opening(.whole(length: nil), seen: object(nil))
    #expect(machine.fetch.opened(opening, wanted: 0..<10) == .take(0..<Int64.max))
    machine.fetch.received(chunk(0..<5))
    machine.fetch.finished(written: 5, busy: nil)
    #expect(machine.next(.fetched) == .verify)
    #expect(machine.next(.failed(failure, hasBytes: true)) == .fetch(nil))
    #expect(machine.fetch.object.size == nil && !machine.fetch.isSizeCounted)
    #expect(machine.fetch.opened(opening, wanted: nil) == .take(0..<Int64.max))
    machine.fetch.received(chunk(0..<6))
    machine.fetch.finished(written: 6, busy: nil)
    #expect(machine.next(.fetched) == .verify)
    guard case .end(.failed(let again)) = machine.next(.failed(failure, hasBytes: true)) else {
      return #expect(Bool(false), "it is fetched for ever")
    }
    #expect(again.code == code)
    // A length that was told is no guess.
    var told = self.machine(.verifying)
    if code != .integrityMismatch {
      #expect(told.next(.failed(failure, hasBytes: true)) == .end(.failed(failure)))
    }
  }

  /// A change is none that a repair has had its turn for, nor the other way round.
  @Test func changesAndRepairsAreCountedApart() {
    let changed = Failure(.remoteChanged, "changed", class: .objectChanged)
    var repaired = machine(.repairing)
    let records = [chunk(0..<10), chunk(10..<20)]
    _ = repaired.next(.inspected(records, good: records))
    #expect(repaired.fetch.hasBegunSmaller && !repaired.fetch.hasBegunAnew)
    #expect(repaired.next(.failed(changed, hasBytes: true)) == .describe(RemoteObject()))
    #expect(repaired.fetch.hasBegunSmaller && repaired.fetch.hasBegunAnew)
    guard case .end(.failed) = repaired.next(.failed(changed, hasBytes: true)) else {
      return #expect(Bool(false), "it begins for ever")
    }
  }

  /// A step that finds nothing leads to the next one; a small file's are left out.
  @Test func repairsThatFindNothing() {
    var machine = machine(.repairing)
    #expect(machine.phase == .repairing(damage))
    let records = [chunk(0..<10), chunk(10..<20)]
    #expect(machine.next(.inspected(records, good: records)) == .fetchMissing(size: 105))
    #expect(machine.fetch.takeEffects().contains(.startOver(.damaged)))
    // The server gives no digests of ranges.
    var large = DownloadMachine(terms { $0.chunkSize = .bytes(1 << 20) })
    let size: Int64 = 40 << 20
    _ = large.next(.settled(nil))
    _ = large.next(.resumed(recorded(object(size)), [chunk(0..<size)], hasPart: true))
    _ = large.next(.described(nil))
    large.fetch.vouched([chunk(0..<size)])
    _ = large.next(.vouched)
    #expect(
      large.next(.failed(damage, hasBytes: true)) == .compare(size: size), "one record, nothing to inspect")
    for damaged in [nil, []] as [[Range<Int64>]?] {
      var machine = large
      #expect(machine.next(.compared([chunk(0..<size)], damaged: damaged)) == .fetchMissing(size: size))
      #expect(!machine.fetch.provesRanges)
    }
  }
}
