import Endpoints
import JobLedger
import JobModel

/// Proves that the server has what we have, and records the completion.
struct UploadProof {
  let scope: UploadScope
  let source: SendingSource
  let proofs: ChunkProofs

  nonisolated(nonsending) func prove(_ uploaded: UploadedFile, _ held: HeldChunks) async throws {
    var file = uploaded
    let (record, verify, look) = (
      scope.record, scope.settings.verify, DestinationLook(scope: scope, source: source)
    )
    source.wrote(file)
    try await source.check(held)
    var (seen, isSeen) = (RemoteObject(), false)
    if file.digests.isEmpty, file.checks.isEmpty { file.checks = try await proofs.checks(of: held) }
    // One body that is proved is all of it.
    let isProved = !file.digests.isEmpty || record.progress.session == nil && !file.checks.isEmpty
    // A copy that the service has made is proved by what stands at both ends.
    if !isProved || verify == .size || scope.copiedBy == .service,
      case .object(let object, let checks)? = try await scope.sink.inspect(
        file, source: source.request, chunks: held.sorted)
    {
      (seen, isSeen) = (object, true)
      if file.digests.isEmpty { file.digests = look.ownWord(object) }
      file.etag = object.etag ?? file.etag
      file.version = file.version ?? object.version
      if file.checks.isEmpty { file.checks = checks }
      if let copy = source.copy, copy.isByService {
        let service = ServiceCopy(scope: scope, object: copy.object)
        if verify != .size { try service.compare(answered: uploaded.etag, with: object) }
        file.checks += service.checks(of: object)
      }
    }
    var mine = source.isHashed ? try await source.digests.whole(also: file.digests.keys) : [:]
    try await source.check(held)
    let size = source.request.size
    if let expected = scope.expect.size {
      record.check(Verification("size", .manifest, expected == size ? .match : .mismatch))
    }
    if let theirs = seen.size {
      record.check(Verification("size", .server, theirs == size ? .match : .mismatch))
      guard theirs == size else {
        // What the service copied is left to the relay.
        let isFinal = scope.copiedBy == .service
        throw Failure(
          .lengthMismatch, "\(scope.sink.place) holds \(theirs) bytes of the \(size) that were sent",
          class: isFinal ? .permanent : .damaged(chunk: nil), expected: String(size), actual: String(theirs))
      }
    } else if isSeen {
      record.check(Verification("size", .server, .unavailable))
    }
    if let copy = source.copy {
      // An earlier attempt may have closed it.
      try await copy.learn(toCompareWith: source.abilities.fileDigests.intersection(file.digests.keys))
      if source.isHashed { mine = try await source.digests.whole() }
      // Of what earlier attempts copied only its chunks' digests are known.
      if file.checks.isEmpty, file.digests.keys.allSatisfy({ mine[$0] == nil }) {
        file.checks = try await proofs.checks(of: held)
      }
      if copy.isByService, file.checks.isEmpty, file.digests.keys.allSatisfy({ mine[$0] == nil }) {
        try await copy.confirm()
      }
      var readBack = verify == .readback ? try await look.readBack(file) : nil
      var told = file.digests
      if let readBack { told[.sha256] = readBack.digest }
      try await copy.checkExpected(told, mayRead: true)
      if verify != .size {
        copy.noteUncompared(told)
        try compare(file, mine)
      }
      if verify != .readback, isDoubted, !copy.isByService { readBack = try await look.readBack(file) }
      if verify == .readback || readBack != nil {
        if mine[.sha256] == nil { mine[.sha256] = try await copy.of(0..<size, [.sha256])[.sha256] }
        try compare(readBack, mine)
      }
      mine.merge(file.digests) { own, _ in own }
    } else {
      // Also where an earlier attempt closed the session, and this one only found the file.
      try source.checkExpected(mine)
      if verify != .size { try compare(file, mine) }
      if verify == .readback {
        try compare(try await look.readBack(file), mine)
      } else if isDoubted, let there = try await look.readBack(file) {
        try compare(there, mine)
      }
    }
    try await UploadAttributes(scope: scope, source: source).prove(file, seen: isSeen ? seen : nil)
    source.complete(file, digests: mine)
    if let etag = file.etag { record.note(.etag(etag)) }
    if let time = seen.lastModified { record.note(.modified(time)) }
  }

  /// Other bytes stood there when it failed, and nothing is told of those that stand there now.
  private var isDoubted: Bool {
    scope.record.transfer.progress.failure?.code == .integrityMismatch
      && scope.record.progress.verification.contains(Verification("sha256", .server, .unavailable))
  }

  /// Compares what the server said of the finished file with the source.
  func compare(_ file: UploadedFile, _ mine: [DigestAlgorithm: String]) throws(Failure) {
    let (record, place) = (scope.record, scope.sink.place)
    var compared = false
    for check in file.checks {
      record.check(check)
      compared = compared || check.result == .match
      guard check.result != .mismatch else {
        throw Failure(.integrityMismatch, "\(place): the server's \(check.check) is not the source's")
      }
    }
    for (algorithm, theirs) in file.digests.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      guard let ours = mine[algorithm] else { continue }
      compared = true
      record.check(Verification(algorithm.rawValue, .server, ours == theirs ? .match : .mismatch))
      guard ours == theirs else {
        throw Failure(
          .integrityMismatch,
          "\(place): the server's \(algorithm.rawValue) is \(theirs), the source's \(ours)",
          expected: ours, actual: theirs)
      }
    }
    guard !compared else { return }
    let expected = scope.expect.digests.keys.map(\.rawValue)
    // What the service copied was compared with the source's own digest, which says nothing of the copy.
    let isByService = scope.copiedBy == .service
    let isExpected =
      !isByService
      && record.progress.verification.contains {
        $0.against == .manifest && $0.result == .match && expected.contains($0.check)
      }
    if scope.settings.verify == .required || isByService && !expected.isEmpty, !isExpected {
      throw Failure(.digestUnavailable, "\(place) gives no digest to compare the upload with")
    }
    record.check(Verification("sha256", .server, .unavailable))
  }

  /// Compares what reads back with the source.
  func compare(_ there: ReadBack?, _ mine: [DigestAlgorithm: String]) throws(Failure) {
    guard let there else {
      scope.record.check(Verification("readback", .server, .unavailable))
      throw Failure(
        .digestUnavailable, "\(scope.sink.place) can't be read back, as `verify: readback` demands")
    }
    let matches = there.digest == mine[.sha256]
    scope.record.check(Verification("readback", .server, matches ? .match : .mismatch))
    guard matches else {
      throw Failure(
        .integrityMismatch,
        "\(there.place) reads back as \(there.digest), the source is \(mine[.sha256] ?? "unknown")",
        expected: mine[.sha256], actual: there.digest)
    }
  }
}
