import HTTPTypes
import HummingbirdCore
import NIOCore
import Synchronization

/// Answers requests: token, faults, route, endpoint, and the access log's line.
final class DepotService: Sendable {
  private let files: FilesEndpoint
  private let sessions: SessionsEndpoint
  private let pool: BlockingPool
  private let digestPool: BlockingPool
  private let faults: FaultBook
  private let gate: BearerGuard?
  private let log: AccessLog?
  private let sweeping: Task<Void, Never>

  init(_ options: DepotOptions) throws {
    if options.faults != nil, !options.isLoopback {
      throw DepotError.usage("--faults works only on a loopback address, not on \(options.host)")
    }
    faults = try options.faults.map { try FaultBook(file: $0) } ?? .none
    gate = options.token.map { BearerGuard(token: Array($0.utf8)) }
    log = try options.accessLog.map { try AccessLog(path: $0) }
    let root = try FileRoot(options.root)
    pool = BlockingPool(threads: 8)
    // Digests of big files take long; they must not keep reads and writes waiting.
    digestPool = BlockingPool(threads: 2)
    let objects = ObjectStore(folder: root.stateFolder + "/objects")
    objects.removeUnfinished(sessions: root.stateFolder + "/sessions")
    let digests = DigestCache(folder: root.stateFolder, pool: digestPool)
    files = FilesEndpoint(root: root, objects: objects, digests: digests, pool: pool)
    sessions = SessionsEndpoint(
      store: SessionStore(folder: root.stateFolder + "/sessions", pool: pool),
      publisher: Publisher(root: root, objects: objects, digests: digests, pool: pool), pool: pool,
      ttl: options.sessionTTL, maxChunk: options.maxChunk)
    // An idle depot gives the space of expired sessions back, too.
    let (store, threads) = (sessions.store, pool)
    let grace = Int(min(60, max(1, options.sessionTTL.milliseconds / 1000)))
    sweeping = Task {
      while (try? await Task.sleep(for: .seconds(1))) != nil {
        try? await threads.run { store.sweep(grace: grace) }
      }
    }
  }

  func respond(_ request: Request, _ writer: consuming ResponseWriter, _ channel: any Channel) async throws {
    let start = ContinuousClock.now
    let call = Call(request: request, faults: faults.plan(for: request.head))
    do {
      if let delay = call.faults[\.delay] { try await Task.sleep(for: delay) }
      let answer = try await answer(call, start, writer)
      do {
        try await AnswerWriter(call: call, answer: answer, pool: pool, channel: channel).write(writer)
        await call.drain()
        note(call, answer, start)
      } catch {
        note(call, answer, start)
        throw error
      }
    } catch let error as ConnectionDropped {
      try? await channel.close().get()
      throw error
    }
  }

  func stop() async {
    sweeping.cancel()
    await pool.stop()
    await digestPool.stop()
    files.root.unlock()
  }

  private func answer(
    _ call: Call, _ start: ContinuousClock.Instant, _ writer: borrowing ResponseWriter
  ) async throws -> Answer {
    do {
      try gate?.check(call.request.headers)
      if let status = call.faults[\.status] { throw injected(status, call) }
      return try await route(call, writer)
    } catch let error as ConnectionDropped {
      note(call, nil, start)
      throw error
    } catch {
      return Problem(any: error).answer()
    }
  }

  private func route(
    _ call: Call, _ writer: borrowing ResponseWriter
  ) async throws -> Answer {
    switch Route(path: call.path) {
    case .file(let path): try await files.serve(path, call)
    case .meta(let path): try await files.meta(path, call)
    case .sessions: try await sessions.create(call, writer)
    case .session(let id): try await sessions.session(id, call)
    case .chunk(let id, let index): try await sessions.chunk(id, index, call, writer)
    case .chunks(let id): try await sessions.chunk(id, nil, call, writer)
    case .finalize(let id): try await sessions.finalize(id, call, writer)
    case .unknown: throw Problem.notFound
    }
  }

  private func injected(_ status: Int, _ call: Call) -> Problem {
    var problem = Problem(status, call.faults[\.code] ?? "INJECTED", "a fault rule answers this")
    problem.headers[.retryAfter] = call.faults[\.retryAfter]
    return problem
  }

  private func note(_ call: Call, _ answer: Answer?, _ start: ContinuousClock.Instant) {
    guard let log else { return }
    let took = start.duration(to: .now)
    let asked = call.header(.contentRange)
    let chunk = call.tally.chunk.load(ordering: .relaxed)
    log.write(
      AccessLog.Line(
        time: HTTPDate.rfc3339(HTTPDate.now), method: call.method.rawValue, path: call.path,
        status: call.faults[\.loseAnswer] == true ? nil : answer?.status.code, range: call.header(.range),
        content_range: asked ?? answer?.headers[.contentRange], chunk: chunk < 0 ? nil : chunk,
        bytes_in: call.tally.bytesIn,
        bytes_out: call.tally.bytesOut,
        ms: Double(took.components.attoseconds / 1_000_000_000_000) / 1000
          + Double(took.components.seconds) * 1000, fault: call.faults.actions.isEmpty ? nil : true,
        wants_digest: call.preference(.wantContentDigest).map { $0 > 0 }))
  }
}
