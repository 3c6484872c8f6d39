import CPosix
import Endpoints
import JobLedger
import JobModel
import LocalFiles

/// Takes a file that was there already for a download's own: it gets the time and the mode that a downloaded one has.
struct Adoption {
  let record: TransferRecord
  let source: any RemoteSource
  let file: DestinationFile
  /// What stands there.
  let present: FileFacts
  /// By which it is the wanted file.
  let digests: [DigestAlgorithm: String]

  private var rule: PreserveRule { record.transfer.settings.preserve }
  private var attributes: DownloadAttributes { DownloadAttributes(of: record) }

  /// - Parameter object: the source; nothing where it was not asked.
  /// - Throws: `ATTRIBUTES_LOST` where an attribute is demanded that the file can't have.
  nonisolated(nonsending) func run(_ object: RemoteObject) async throws {
    try attributes.check(source.place, record)
    let told = try await described(object)
    var kept = attributes.plan(told ?? RemoteObject()).kept
    if told == nil { kept.lost.formUnion(attributes.wanted) }
    let facts = try give(told ?? RemoteObject(), &kept)
    record.note(.attributes(kept))
    try AttributePlan.check(kept.lost, rule, "`\(file.path)` is the right file already, but would go without")
    let known = told ?? object
    record.note(.adopted(facts, digests, known, remoteID: source.remoteID(of: known)))
  }

  /// The source, as far as its time and mode are wanted; nil where they can't be known.
  private nonisolated(nonsending) func described(_ object: RemoteObject) async throws -> RemoteObject? {
    guard object == RemoteObject(), attributes.asksSource else { return object }
    let seen: RemoteObject
    do { seen = try await source.probe() } catch let failure as Failure
      where rule.demanded.isEmpty && !failure.code.isRetryable
    {
      record.warn("`\(file.path)` keeps its own time and mode: \(failure.message)")
      return nil
    }
    // The manifest's digest vouches for the file, whatever the source holds by now.
    guard seen.size ?? present.size == present.size,
      digests.allSatisfy({ seen.digests[$0.key] ?? $0.value == $0.value })
    else {
      record.warn("`\(file.path)` keeps its own time and mode: \(source.place) has another file by now")
      return nil
    }
    return seen
  }

  /// Gives the file what it does not have yet.
  ///
  /// - Returns: its facts afterwards.
  private func give(_ object: RemoteObject, _ kept: inout KeptAttributes) throws(Failure) -> FileFacts {
    let (opened, plan) = (try file.folder.reading(file.name), attributes.plan(object))
    let status = try opened.status()
    guard FileFacts(status).isSame(as: present) else {
      throw Failure(.ioError, "`\(file.path)` was replaced while it was compared")
    }
    if let time = attributes.time(plan, object), time != present.mtime {
      do throws(Failure) { try opened.setTime(time) } catch { lose(.mtime, error, &kept) }
    }
    if let mode = attributes.mode(plan), mode != UInt16(truncatingIfNeeded: status.st_mode) & 0o7777 {
      do throws(Failure) { try opened.setMode(mode) } catch { lose(.mode, error, &kept) }
    }
    return try opened.facts()
  }

  /// The system refuses it, as for another user's file: its bytes are right all the same.
  private func lose(_ attribute: Attribute, _ failure: Failure, _ kept: inout KeptAttributes) {
    if kept.preserved.remove(attribute) != nil { kept.lost.insert(attribute) }
    record.warn(failure.message)
  }
}
