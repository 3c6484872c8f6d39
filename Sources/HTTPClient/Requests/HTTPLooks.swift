import Admission
import Endpoints
import JobModel

/// What a server says of the file at an upload's destination: by name, by its id, and by its bytes.
struct HTTPLooks {
  /// Seconds until a file that was taken, and is not found, is looked for once more.
  private static let moment = 1.0

  let remote: any UploadProtocol
  let requester: Requester

  private var now: Double { requester.context.clock.now() }

  nonisolated(nonsending) func look(_ effort: LookEffort) async throws -> FoundFile? {
    guard let request = remote.look() else { return nil }
    switch effort {
    case .once: return foundByName(try await requester.once(request))
    case .retried: return foundByName(try await requester.call(request))
    }
  }

  nonisolated(nonsending) func look(for file: UploadedFile) async throws -> FoundFile? {
    guard let request = remote.look() ?? remote.inspect(file) else { return nil }
    let byID = remote.inspect(file)
    var answer: Response?
    let named: FoundFile
    do {
      named = try await together {
        let response = try await requester.call(request, asksWhy: true)
        answer = response
        return foundByName(response)
      }
    } catch let failure as Failure where failure.httpStatus == 500 {
      // Who knows files by their ids alone may even fail at a name.
      guard let byID, byID.url != request.url else { throw failure }
      return found(try await requester.call(byID, asksWhy: true))
    }
    guard case .nothing = named, let answer, remote.mayKnowIDsAlone(answer), let byID else { return named }
    return try await together { found(try await requester.call(byID, asksWhy: true)) }
  }

  nonisolated(nonsending) func inspect(
    _ file: UploadedFile, source: UploadSource, chunks: [ChunkRecord]
  ) async throws -> FoundFile? {
    guard let request = remote.inspect(file) else { return nil }
    return try await together { try await inspect(request, source, chunks) }
  }

  private nonisolated(nonsending) func inspect(
    _ request: Request, _ source: UploadSource, _ chunks: [ChunkRecord]
  ) async throws -> FoundFile {
    var response = try await requester.call(request)
    if response.status == 404 {
      // What a server remembers of a folder may be a moment old: rclone's VFS, behind a MOVE.
      try await requester.context.admission.pause(requester.transfer, seconds: Self.moment)
      response = try await requester.call(request)
    }
    switch remote.inspected(response, now: now) {
    case .success(let object):
      return .object(
        object.without(requester.secrets), checks: remote.checks(response, source: source, chunks: chunks))
    case .failure(let failure):
      guard failure.code == .notFound else {
        // Who may not look, or asks what the server does not know, is told so by a status; all else is no word of the file.
        guard response.status >= 400 else { throw failure }
        return .failed(failure)
      }
      throw Failure(
        .notFound, "\(remote.url) took the upload, and then answered that it does not have it",
        httpStatus: response.status)
    }
  }

  /// Looks at the file by itself, or by one answer that tells of many, where others look at files of its folder at the same time.
  private nonisolated(nonsending) func together(
    _ alone: nonisolated(nonsending) () async throws -> FoundFile
  ) async throws -> FoundFile {
    guard let request = remote.lookAtFolder() else { return try await alone() }
    let looks = requester.context.looks
    let key = SharedLooks.Key(endpoint: requester.endpointName ?? "", folder: request.url.text)
    let turn = await looks.turn(key)
    // Others hold their permits while they wait for the answer: who asks waits for none of these.
    var holding: SharedBuffers.Holding?
    if case .ask = turn { holding = requester.transfer?.buffers.hold() }
    defer { withExtendedLifetime(holding) {} }
    switch turn {
    case .told(let response):
      try Task.checkCancellation()
      if let object = response.flatMap(remote.foundInFolder)?.object { return .object(object) }
      return try await alone()
    case .ask(hasOthers: false):
      var isWorking = false
      defer { looks.end(key, nil, names: nil, isWorking: isWorking) }
      let found = try await alone()
      isWorking = true
      return found
    case .ask(hasOthers: true):
      // Each looks by itself where this fails, and from then on: an answer may be longer than is taken.
      let response = try? await requester.once(request)
      let told = response.flatMap(remote.foundInFolder)
      looks.end(key, told == nil ? nil : response, names: told?.names ?? .max, isWorking: told != nil)
      try Task.checkCancellation()
      if let object = told?.object { return .object(object) }
      return try await alone()
    }
  }

  /// What is there by that name. Who knows files by their ids alone may refuse a name as an id that can't be one.
  private func foundByName(_ response: Response) -> FoundFile {
    guard remote.mayKnowIDsAlone(response), (400..<500).contains(response.status) || response.status == 501,
      ![401, 403, 407, 408, 425, 429].contains(response.status)
    else { return found(response) }
    return .nothing
  }

  private func found(_ response: Response) -> FoundFile {
    if response.status == 404 || response.status == 410 { return .nothing }
    switch remote.inspected(response, now: now) {
    case .success(let object): return .object(object.without(requester.secrets))
    case .failure(let failure):
      // Within a multi-status, too.
      if failure.isGoneThere { return .nothing }
      return [401, 403, 405, 501].contains(response.status) ? .hidden(failure) : .failed(failure)
    }
  }

  nonisolated(nonsending) func readBack(
    _ file: UploadedFile, moved: @escaping (Int) -> Void
  ) async throws -> ReadBack? {
    guard let download = remote.readback(file) else { return nil }
    return try await requester.retrying {
      let sink = try DigestingSink(moved: moved)
      let url = try await self.requester.send(download.get(nil, of: RemoteObject()), body: .none) { sink }
      let head = sink.responseHead ?? ResponseHead(status: 0)
      guard head.status == 200 else {
        throw download.refusal(Response(head: head, url: url), doing: "read back", now: self.now)
      }
      guard head.carriesWhole else {
        throw Failure(
          .protocolViolation, "\(url) answered with a part, where everything was asked for", httpStatus: 200,
          actual: head.headers["Content-Range"])
      }
      return ReadBack(place: download.url.description, digest: sink.finish())
    }
  }
}
