import Digests
import Endpoints
import HTTPClient
import JobLedger
import JobModel

/// The last step of a transfer: the request that ties the proved file to the record that it belongs to (`then`).
///
/// The completion and the request, with its key, are on record before it is sent first; what is sent again, by whatever
/// attempt, is the same under the same key. Belongs to one transfer's actor.
struct AttachStep {
  let record: TransferRecord
  /// nil where the transfer says no `then`.
  let route: AttachRoute?

  /// Only the request is left of an earlier attempt, as far as the record tells: whether the file is as it was is for its
  /// caller to see.
  var isOnlyLeft: Bool {
    guard let route, record.progress.isAttaching, !record.isUnverified, !record.context.checksEverything
    else { return false }
    return missing(route.template).isEmpty && expectationsHold
  }

  /// Makes the request where one is to be made.
  ///
  /// - Parameters:
  ///   - end: how all that is before it ended.
  ///   - digests: reads the file for those that nothing on record tells.
  /// - Returns: how the transfer ends.
  nonisolated(nonsending) func run(
    after end: TransferEnd,
    digests: nonisolated(nonsending) (Set<DigestAlgorithm>) async throws -> [DigestAlgorithm: String]
  ) async -> TransferEnd {
    switch end {
    case .skipped, .failed, .stopped: return end
    case .finished, .settled: break
    }
    guard let route else {
      // The manifest says it no longer.
      if record.progress.isAttaching { record.note(.attaching(nil)) }
      return end
    }
    do {
      if record.progress.completedAt == nil {
        record.note(.completed(at: now))
        // A kill amid what is read for the request leaves a file that is known.
        record.save()
      }
      let missing = missing(route.template)
      if !missing.isEmpty {
        let found = try await digests(missing)
        record.note(.hashed(record.progress.digests.merging(found) { old, _ in old }))
      }
      guard let (owed, request) = try owed(route.template) else { return end }
      record.note(.attaching(owed))
      record.save()
      try await record.context.run.writer.barrier()
      try await send(request, owed.key, by: route)
      // Adopted is how it came to be there; all else is news now.
      return end == .settled(.adopted) ? end : .finished
    } catch  where error is CancellationError || error is LedgerError {
      return .stopped
    } catch {
      return .failed(Self.failure(Failure(error)))
    }
  }

  private var now: Double { record.context.client.clock.now() }

  private nonisolated(nonsending) func send(
    _ request: AttachRequest, _ key: String, by route: AttachRoute
  ) async throws {
    do {
      let status = try await route.send(request, key: key)
      note(.attached, status: status, route)
    } catch {
      let failure = (error as? CancellationError) == nil ? Failure(error) : nil
      let isRefused = failure.map { !Self.failure($0).code.isRetryable } ?? false
      note(isRefused ? .refused : .owed, status: failure?.httpStatus, route)
      throw error
    }
  }

  private func note(_ state: AttachRecord.State, status: Int?, _ route: AttachRoute) {
    let tally = route.requester.takeTally()
    record.count(tally)
    record.note(.attachTried(tally.requests, state, status: status, at: now))
  }

  /// What can't be mended by another try fails for good, and keeps the file; what the network policy or a certificate
  /// denies is said in their own words.
  static func failure(_ failure: Failure) -> Failure {
    switch failure.code {
    case .policyDenied, .tlsFailed, .attachFailed, .internal: return failure
    case let code where code.isRetryable: return failure
    default:
      return Failure(
        .attachFailed, failure.message, class: .permanent, httpStatus: failure.httpStatus,
        expected: failure.expected, actual: failure.actual)
    }
  }

  // MARK: What is sent

  /// What is to be sent now, as it is to be recorded; nil where it is on record as answered, or was answered and can't be
  /// written any more.
  private func owed(_ template: AttachTemplate) throws -> (AttachRecord, AttachRequest)? {
    let values = record.transfer.attachValues(record.progress)
    let run = RunValues(id: record.context.run.id, startedAt: record.context.run.startedAt)
    let (same, fresh): (AttachRequest, AttachRequest)
    do throws(ValueFault) {
      (same, fresh) = (try template.request(values, run: nil), try template.request(values, run: run))
    } catch {
      let message = "the attach request can't be written: \(error.message)"
      guard record.progress.attach?.state == .attached else {
        throw Failure(.attachFailed, message, class: .permanent)
      }
      record.warn(message + "; the file stays tied as it was")
      return nil
    }
    let identity = same.identity(of: record.progress)
    guard var known = record.progress.attach, known.identity == identity else {
      return (AttachRecord(key: Self.newKey(), identity: identity, request: fresh), fresh)
    }
    guard known.state != .attached else { return nil }
    // What was sent may have arrived: it is sent as it was. Where its secrets are, the manifest says.
    var request = known.request ?? fresh
    // What was signed anew since is what still works.
    if request.address == fresh.address { request.target = fresh.target }
    request.headers = fresh.headers.map { header in
      if case .secret = header.value { return header }
      return request.headers.first { $0.name == header.name } ?? header
    }
    known.request = request
    known.state = .owed
    return (known, request)
  }

  /// A random UUID (RFC 9562, version 4).
  static func newKey() -> String {
    Hex.uuid((0..<16).map { _ in UInt8.random(in: .min ... .max) }, version: 4)
  }

  private func missing(_ template: AttachTemplate) -> Set<DigestAlgorithm> {
    template.digests.subtracting(record.progress.digests.keys)
  }

  /// The recorded facts meet what is expected by now.
  private var expectationsHold: Bool {
    let (expect, progress) = (record.transfer.expect, record.progress)
    if let size = expect.size, size != progress.size { return false }
    if expect.digests.contains(where: { progress.digests[$0.key] != $0.value }) { return false }
    return expect.type == nil || progress.verification.contains { $0.check == "type" && $0.result == .match }
  }
}
