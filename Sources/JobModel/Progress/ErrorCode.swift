/// Why a transfer could not go on: the one table of codes, what each allows, and what to do about it.
package enum ErrorCode: String, Sendable, Hashable, CaseIterable {
  case networkUnreachable = "NETWORK_UNREACHABLE"
  case timeout = "TIMEOUT"
  case serverError = "SERVER_ERROR"
  case rateLimited = "RATE_LIMITED"
  case diskFull = "DISK_FULL"
  case secretUnavailable = "SECRET_UNAVAILABLE"
  case unauthorized = "UNAUTHORIZED"
  case forbidden = "FORBIDDEN"
  case sourceMissing = "SOURCE_MISSING"
  case sourceChanged = "SOURCE_CHANGED"
  case notFound = "NOT_FOUND"
  case remoteChanged = "REMOTE_CHANGED"
  case integrityMismatch = "INTEGRITY_MISMATCH"
  case lengthMismatch = "LENGTH_MISMATCH"
  case typeMismatch = "TYPE_MISMATCH"
  case chunkConflict = "CHUNK_CONFLICT"
  case digestUnavailable = "DIGEST_UNAVAILABLE"
  case rangeInvalid = "RANGE_INVALID"
  case protocolViolation = "PROTOCOL_VIOLATION"
  case sessionExpired = "SESSION_EXPIRED"
  case tlsFailed = "TLS_FAILED"
  case policyDenied = "POLICY_DENIED"
  case destinationExists = "DESTINATION_EXISTS"
  case permissionDenied = "PERMISSION_DENIED"
  case ioError = "IO_ERROR"
  case attributesLost = "ATTRIBUTES_LOST"
  case attachFailed = "ATTACH_FAILED"
  case needsFailed = "NEEDS_FAILED"
  case `internal` = "INTERNAL"

  /// True for faults that pass: the transfer pauses with reason `retries` and the next attempt tries again.
  package var isRetryable: Bool {
    switch self {
    case .networkUnreachable, .timeout, .serverError, .rateLimited, .diskFull, .secretUnavailable: true
    case .unauthorized, .forbidden, .sourceMissing, .sourceChanged, .notFound, .remoteChanged,
      .integrityMismatch, .lengthMismatch, .typeMismatch, .chunkConflict, .digestUnavailable, .rangeInvalid,
      .protocolViolation, .sessionExpired, .tlsFailed, .policyDenied, .destinationExists, .permissionDenied,
      .ioError, .attributesLost, .attachFailed, .needsFailed, .internal:
      false
    }
  }

  /// What becomes of the bytes that are already here, or there.
  package var partial: Partial {
    switch self {
    case .networkUnreachable, .timeout, .serverError, .rateLimited, .diskFull, .secretUnavailable,
      .unauthorized, .forbidden, .tlsFailed, .policyDenied, .destinationExists, .permissionDenied, .ioError,
      .attachFailed, .needsFailed, .internal:
      .kept
    case .sourceMissing, .sourceChanged: .sessionKept
    case .notFound, .remoteChanged, .integrityMismatch, .lengthMismatch, .typeMismatch, .chunkConflict,
      .digestUnavailable, .rangeInvalid, .protocolViolation, .sessionExpired, .attributesLost:
      .dropped
    }
  }

  package enum Partial: Sendable, Hashable { case kept, sessionKept, dropped }

  /// What the user can do, in one sentence.
  package var hint: String {
    switch self {
    case .networkUnreachable:
      "check the name, the port and the network, then run the same command again"
    case .timeout: "run the same command again; a slow server may want longer `timeouts`"
    case .serverError: "the server failed on its side; run the same command again later"
    case .rateLimited: "the server asks for fewer requests; run again later, or lower the policy's limits"
    case .diskFull: "free some space on the destination's file system, then run the same command again"
    case .secretUnavailable: "make the secret that the manifest refers to available, then run again"
    case .unauthorized: "renew the credentials that `auth` refers to, then run again"
    case .forbidden:
      "these credentials may not do this, or a signed URL is past its time; get the permission, or renew the URL"
    case .sourceMissing: "put the source back, or take the transfer out of the manifest"
    case .sourceChanged: "let the source come to rest (or use `snapshot: copy`), then run again"
    case .notFound: "check the path or id; the server says there is nothing there"
    case .remoteChanged: "the object keeps changing meanwhile; run again when it is at rest"
    case .integrityMismatch:
      "compare an expected digest with its origin; if it is right, the source is corrupt, or what lies between damages it"
    case .lengthMismatch: "compare the expected size with its origin; if it is right, the source is truncated"
    case .typeMismatch: "the bytes are not what `expect.type` says: truncated, or another kind of file"
    case .chunkConflict:
      "the server holds other bytes for this upload; `haul retry --from-scratch` starts anew"
    case .digestUnavailable: "give a digest under `expect`, or lower `verify` to `available`"
    case .rangeInvalid: "the server's ranges make no sense; a proxy in between may be at fault"
    case .protocolViolation:
      "the protocol forbids this, or the server does not keep to it; the message says which"
    case .sessionExpired: "upload sessions end before the file is through; ask for a longer session time"
    case .tlsFailed: "check the certificate or host key, and `tls` or `known_hosts` of this endpoint"
    case .policyDenied: "the network policy forbids this; change the policy if it should be allowed"
    case .destinationExists:
      "move the file away, or use `if_exists: replace` or `keep`; of two transfers that write it, give one another `to`"
    case .permissionDenied:
      "give the user that runs haul the right to read or write there; leave a name that can't be used out with `exclude`"
    case .ioError:
      "look at the path that the message names and at its file system (mount, log), then run again"
    case .attributesLost:
      "take the `!` off where it may be lost, or use a destination that keeps it"
    case .attachFailed:
      "the file is in its place; mend `then` or the record behind it, then run again: only this request is made"
    case .needsFailed: "mend the transfer that this one needs, then run again"
    case .internal: "this is a defect in haul; please report it with the message"
    }
  }
}
