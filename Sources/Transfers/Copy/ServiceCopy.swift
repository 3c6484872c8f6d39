import Endpoints
import JobModel

/// Whether the service of a copy's two ends copies by itself, and what it proves by that.
struct ServiceCopy {
  let scope: UploadScope
  let object: RemoteObject

  /// Nothing asks for the bytes, and each request can be bound to the version.
  ///
  /// - Parameter abilities: the service's.
  func isWanted(_ abilities: UploadAbilities) -> Bool {
    let (settings, progress) = (scope.settings, scope.record.progress)
    // What was begun in one way goes on in it.
    if progress.session != nil, progress.copiedBy == .relay { return false }
    guard object.hasStrongETag, settings.verify != .readback,
      !scope.context.uploads.relayed.hasSaid(scope.sink.origin)
    else { return false }
    if settings.verify == .required, object.digests.isEmpty { return false }
    // Of parts the service computes a CRC-64/NVME, and no other digest that the source may have.
    let size = object.size ?? 0
    let isInParts =
      settings.ifExists != .replace || size > ServiceParts.bytes(of: size, settings.chunkSize, abilities)
    if isInParts, object.digests[.crc64nvme] == nil,
      settings.verify == .required || !scope.expect.digests.isEmpty
    {
      return false
    }
    // No parts, and so no condition.
    if settings.ifExists != .replace, size == 0 { return false }
    return scope.expect.digests.allSatisfy { object.digests[$0.key] == $0.value }
  }

  /// The ETag as a check, where it is of the content: one of several parts, or of what is encrypted, is another for the
  /// same bytes.
  func checks(of seen: RemoteObject) -> [Verification] {
    guard seen.digests[.md5] != nil, scope.context.uploads.etags[scope.endpointName] != .other,
      let theirs = seen.etag, theirs == object.etag
    else { return [] }
    return [Verification("etag", .server, .match)]
  }

  /// Compares the ETag that the service answered with that of what stands there, whatever it is made of.
  ///
  /// - Parameter answered: nil where the answer had none, or was lost.
  func compare(answered: String?, with seen: RemoteObject) throws(Failure) {
    guard let answered = answered.map(ETag.bare), let theirs = seen.etag.map(ETag.bare), !answered.isEmpty,
      !theirs.isEmpty, answered != theirs
    else { return }
    scope.record.check(Verification("etag", .server, .mismatch))
    throw Failure(
      .integrityMismatch,
      "\(scope.sink.place) has another ETag than the service said of its copy: another client may have replaced it",
      class: .permanent, expected: answered, actual: theirs)
  }

  /// The bytes may still pass through haul, where the service did not copy them, or not right.
  ///
  /// - Parameter replaces: what stands at the destination may be replaced.
  static func leavesToRelay(_ failure: Failure, _ checks: [Verification], replaces: Bool) -> Bool {
    // What the manifest says of the source stays wrong.
    guard !checks.contains(where: { $0.against == .manifest && $0.result == .mismatch }) else { return false }
    switch failure.code {
    case .forbidden, .unauthorized, .protocolViolation: return true
    // The object stands there already: it would be kept.
    case .integrityMismatch, .lengthMismatch, .digestUnavailable: return replaces
    default: return false
    }
  }

  /// The service copies nothing, rather than not this object.
  static func isOfAllObjects(_ failure: Failure) -> Bool {
    failure.code == .protocolViolation && [200, 405, 501].contains(failure.httpStatus ?? 0)
  }
}
