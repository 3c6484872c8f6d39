import Endpoints
import JobModel

/// Decides what a download does next, by what has come; it awaits nothing, and does nothing itself.
///
/// `next` answers an event with a step, whose end is the next event. Each read is decided about by its `fetch`.
struct DownloadMachine {
  enum Phase: Sendable, Hashable {
    case settling
    case resuming
    case fetching(Stage)
    case verifying
    /// After this mismatch.
    case repairing(Failure)
    case promoting
    /// Another file took the name meanwhile, which was refused so.
    case settlingAnew(Failure)
    case ended
  }

  /// What a fetch asks for, in this order: facts of the object, its size, the digests that came with neither, its version, what
  /// the disk holds where that is all of it, its bytes.
  enum Stage: Sendable, Hashable { case describing, sizing, proving, identifying, vouching, moving }

  enum Event: Sendable {
    /// nil: bytes are to be moved.
    case settled(TransferEnd?)
    /// An earlier attempt left these records, and their part file or not.
    indirect case resumed(TransferProgress, [ChunkRecord], hasPart: Bool)
    /// The part file was compared with what was taken up.
    case vouched
    case described(RemoteObject?)
    case probed(RemoteObject?)
    /// All that was asked for is here.
    case fetched
    case verified
    /// The part file holds the good ones of these records.
    case inspected([ChunkRecord], good: [ChunkRecord])
    /// These ranges are not what the server has; nil where it does not say.
    case compared([ChunkRecord], damaged: [Range<Int64>]?)
    case promoted(FileFacts)
    /// - Parameter hasBytes: something is staged.
    case failed(Failure, hasBytes: Bool)
    case stopped
  }

  enum Step: Sendable, Hashable {
    case settle, resume, settleAnew
    case describe(RemoteObject)
    case probe
    /// One range, or everything in one answer.
    case fetch(Range<Int64>?)
    /// Compares what was taken up with the part file.
    case vouch
    /// Everything that is missing, and beside it what `vouch` does.
    case fetchMissing(size: Int64)
    case verify, inspect
    case compare(size: Int64)
    case promote
    case end(TransferEnd)
  }

  private(set) var phase = Phase.settling
  var fetch: Fetch

  init(_ terms: Fetch.Terms) { fetch = Fetch(terms) }

  mutating func next(_ event: Event) -> Step {
    if case .settlingAnew(let failure) = phase { return settledAnew(event, after: failure) }
    switch (phase, event) {
    case (_, .stopped): return end(.stopped)
    case (.settling, .settled(let settled?)): return end(settled)
    case (.settling, .settled(nil)): return enter(.resuming, .resume)
    case (.resuming, .resumed(let progress, let records, let hasPart)):
      fetch.resume(progress, records, hasPart: hasPart)
      return begin()
    case (.fetching(.describing), .described(let seen)):
      if let seen, fetch.map.have.total > 0, !fetch.recorded.remote.isSameVersion(as: seen) {
        return recover(from: fetch.changed(seen), hasBytes: true)
      }
      if let failure = seen.flatMap({ fetch.learn($0) }) { return recover(from: failure, hasBytes: false) }
      return goOn(after: .describing)
    case (.fetching(.proving), .described(let seen)):
      if let seen, !fetch.object.isSameVersion(as: seen) {
        return recover(from: fetch.changed(seen), hasBytes: true)
      }
      if let failure = seen.flatMap({ fetch.learnDigests($0) }) {
        return recover(from: failure, hasBytes: false)
      }
      return goOn(after: .proving)
    case (.fetching(.proving), .probed(let seen)):
      // What is told of another version proves nothing.
      if let seen, fetch.object.isSameVersion(as: seen) { fetch.learn(digests: seen.digests) }
      if let failure = fetch.unverifiable { return end(.failed(failure)) }
      return goOn(after: .proving)
    case (.fetching(.identifying), .probed(let seen)):
      if let size = seen?.size, size > 0 {
        let failure = Failure(
          .rangeInvalid, "\(fetch.terms.place) told of no first byte, and now of \(size) bytes",
          expected: "0", actual: String(size))
        return recover(from: failure, hasBytes: false)
      }
      if let seen, let failure = fetch.learn(seen) { return recover(from: failure, hasBytes: false) }
      return goOn(after: .identifying)
    case (.fetching(.sizing), .fetched): return goOn(after: .sizing)
    case (.fetching(.vouching), .vouched): return goOn(after: .identifying)
    case (.fetching(.moving), .fetched): return goOn(after: .moving)
    case (.verifying, .verified): return enter(.promoting, .promote)
    case (.repairing(let mismatch), .inspected(let records, let good)):
      let lost = records.count - good.count
      guard lost > 0 else { return compareRanges(mismatch) }
      return repair(
        records, good, "\(mismatch.message); \(lost) chunks are damaged on disk and fetched again")
    case (.repairing(let mismatch), .compared(let records, let damaged)):
      guard let damaged, !damaged.isEmpty else { return fetchEverything(after: mismatch) }
      let lost = damaged.reduce(0) { $0 + Int64($1.count) }
      return repair(
        records, records.filter { record in !damaged.contains { $0.overlaps(record.range) } },
        "\(mismatch.message); \(lost) of its \(fetch.object.size ?? 0) bytes are in parts that arrived damaged, and are fetched again"
      )
    case (.promoting, .promoted(let facts)):
      fetch.promoted(facts)
      return end(.finished)
    case (.fetching(.sizing), .failed(let failure, _)) where fetch.isRanged && failure == fetch.unverifiable:
      // An answer to a range need not tell a digest of the whole, as one to HEAD may.
      return enter(.fetching(.proving), .probe)
    case (.fetching, .failed(let failure, let hasBytes)):
      return recover(from: failure, hasBytes: hasBytes)
    case (.verifying, .failed(let failure, let hasBytes)):
      return recover(from: fetch.checked(failure), hasBytes: hasBytes)
    case (.promoting, .failed(let failure, _)) where failure.code == .destinationExists:
      return enter(.settlingAnew(failure), .settleAnew)
    case (.settling, .failed(let failure, _)), (.resuming, .failed(let failure, _)),
      (.repairing, .failed(let failure, _)), (.promoting, .failed(let failure, _)):
      return end(.failed(failure))
    case (.settling, _), (.resuming, _), (.fetching, _), (.verifying, _), (.repairing, _), (.promoting, _),
      (.settlingAnew, _), (.ended, _):
      return confused()
    }
  }

  /// What stands at the destination by now ends it, one way or another.
  private mutating func settledAnew(_ event: Event, after failure: Failure) -> Step {
    switch event {
    case .settled(let settled): end(settled ?? .failed(failure))
    case .failed(let failure, _): end(.failed(failure))
    case .stopped: end(.stopped)
    case .resumed, .vouched, .described, .probed, .fetched, .verified, .inspected, .compared, .promoted:
      confused()
    }
  }

  /// Neither event nor phase is named: both hold what must not be told.
  private mutating func confused() -> Step {
    end(.failed(Failure(.internal, "a download was told what its phase has no place for")))
  }

  private mutating func enter(_ next: Phase, _ step: Step) -> Step {
    phase = next
    return step
  }

  private mutating func end(_ end: TransferEnd) -> Step { enter(.ended, .end(end)) }

  private mutating func begin() -> Step {
    guard fetch.map.have.total > 0 || fetch.object == RemoteObject() && !fetch.terms.firstRangeDescribes
    else { return goOn(after: .describing) }
    return enter(.fetching(.describing), .describe(fetch.object))
  }

  private mutating func goOn(after stage: Stage) -> Step {
    switch stage {
    case .describing:
      guard fetch.object.size == nil, fetch.isRanged else { return goOn(after: .proving) }
      // The first range tells the size, and is often the whole file.
      return enter(.fetching(.sizing), .fetch(0..<fetch.chunkSize))
    case .sizing:
      guard fetch.isToBeDescribed else { return goOn(after: .proving) }
      return enter(.fetching(.proving), .describe(fetch.object))
    case .proving:
      if fetch.terms.firstRangeDescribes, let failure = fetch.unverifiable { return end(.failed(failure)) }
      guard fetch.object.size == 0, !fetch.object.isIdentified || fetch.terms.firstRangeDescribes else {
        return goOn(after: .identifying)
      }
      // A 416 for an empty file names no version, and the next run wants to know which one this was; nor, from some
      // servers, a size: they may only refuse ranges.
      return enter(.fetching(.identifying), .probe)
    case .identifying:
      guard !fetch.isOnlyUnvouched else { return enter(.fetching(.vouching), .vouch) }
      if fetch.isRanged, !fetch.canSplit, !fetch.isComplete { fetch.streamUntied() }
      guard !fetch.isComplete else { return goOn(after: .moving) }
      guard fetch.isRanged else { return enter(.fetching(.moving), .fetch(nil)) }
      guard let size = fetch.object.size else { return goOn(after: .moving) }
      return enter(.fetching(.moving), .fetchMissing(size: size))
    case .vouching: return goOn(after: .identifying)
    case .moving: return enter(.verifying, .verify)
    }
  }

  private mutating func recover(from failure: Failure, hasBytes: Bool) -> Step {
    switch failure.class {
    case .rangesUnserved:
      // Warned of once.
      let size = fetch.isRanged ? fetch.object.size ?? .max : 0
      fetch.stream(size, "the server does not keep to ranges: one stream, which can't be resumed")
      fetch.startOver(.streamBroke)
      return begin()
    case .objectChanged:
      // The one that was begun with is fetched on where the server still has it.
      if let pinned = fetch.terms.pinned(fetch.object) {
        fetch.pin(pinned)
        return begin()
      }
      if fetch.setTagsApart(after: failure) { return begin() }
      guard !fetch.hasBegunAnew else {
        let again =
          switch failure.code {
          case .remoteChanged: "changed again while it was read"
          case .protocolViolation: "goes on telling two digests under one ETag"
          default: "goes on telling two sizes under one ETag"
          }
        return end(
          .failed(
            Failure(
              failure.code, "\(fetch.terms.place) \(again)", class: .permanent,
              expected: failure.expected, actual: failure.actual)))
      }
      fetch.beginAnew()
      return begin()
    case .damaged:
      guard hasBytes, fetch.object.size != nil else { return end(.failed(failure)) }
      return repair(failure)
    case .transient, .deferred, .credentialExpired, .sessionGone, .sourceChanged, .denied, .permanent:
      return end(.failed(failure))
    }
  }

  /// After a mismatch: first what the chunks' checksums do not vouch for, then what is not what the server says it sent,
  /// then once everything in small chunks.
  private mutating func repair(_ mismatch: Failure) -> Step {
    switch fetch.repair {
    case .none:
      fetch.repair = .chunks
      guard fetch.map.records > 1 else { return compareRanges(mismatch) }
      return enter(.repairing(mismatch), .inspect)
    case .chunks: return compareRanges(mismatch)
    case .ranges, .everything: return fetchEverything(after: mismatch)
    }
  }

  private mutating func compareRanges(_ mismatch: Failure) -> Step {
    fetch.repair = .ranges
    let object = fetch.object
    guard fetch.isRanged, object.rangeValidator != nil || object.version != nil, let size = object.size,
      DamageSearch(chunkSize: fetch.chunkSize).isWorthIt(for: size)
    else { return fetchEverything(after: mismatch) }
    return enter(.repairing(mismatch), .compare(size: size))
  }

  private mutating func repair(_ records: [ChunkRecord], _ good: [ChunkRecord], _ warning: String) -> Step {
    fetch.warn(warning)
    fetch.mend(records, good: good)
    return begin()
  }

  private mutating func fetchEverything(after mismatch: Failure) -> Step {
    // The whole file's digest alone judges the last try: digests of ranges may be what is wrong.
    fetch.repair = .everything
    guard !fetch.hasBegunSmaller, let size = fetch.object.size else { return end(.failed(mismatch)) }
    fetch.beginSmaller(size, after: mismatch)
    return begin()
  }
}
