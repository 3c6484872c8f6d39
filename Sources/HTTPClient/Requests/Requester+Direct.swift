import Admission
package import Endpoints
package import JobModel

/// The requests of kinds that do not speak HTTP.
extension Requester: DirectRequests {
  package nonisolated(nonsending) func once<Connection, Value>(
    _ verb: String, _ url: WebURL, moving direction: Direction?,
    connect: nonisolated(nonsending) () async throws -> Connection,
    _ body: nonisolated(nonsending) (Connection) async throws -> (Value, bytes: Int64)
  ) async throws -> Value {
    let policy = directPolicy
    _ = try AdmittedURL(url, for: verb, policy: policy)
    if isCleanup || isPaired {
      countRequest(to: url)
      return try await body(try await connect()).0
    }
    if let name = endpointName, let failure = await context.admission.cooldown(.endpoint(name)) {
      throw failure
    }
    while true {
      let limits = direction.map { directThrottle.limits($0) } ?? []
      let permit = try await context.admission.enter(
        AdmissionRequest(url.origin, policy, directPermit, limits: limits))
      do {
        countRequest(to: url)
        let connection = try await connect()
        // Others may have got the transfer's permit while the host was silent.
        guard await context.admission.mayMove(permit) else {
          await context.admission.leave(permit, failure: nil)
          continue
        }
        let (value, bytes) = try await body(connection)
        await context.admission.answered(permit, status: 200, retryAfter: nil)
        await context.admission.leave(
          permit, failure: nil, received: direction == .download ? bytes : 0,
          sent: direction == .upload ? bytes : 0, isWhole: true)
        return value
      } catch {
        let failure = error as? Failure
        let silence = failure.flatMap { $0.isSilence && $0.class == .transient ? $0 : nil }
        if failure != nil, silence == nil {
          await context.admission.answered(permit, status: 200, retryAfter: nil)
        }
        await context.admission.leave(permit, failure: silence)
        throw error
      }
    }
  }

  package nonisolated(nonsending) func call<Connection, Value>(
    _ verb: String, _ url: WebURL, connect: nonisolated(nonsending) () async throws -> Connection,
    _ body: nonisolated(nonsending) (Connection) async throws -> Value
  ) async throws -> Value {
    guard isCleanup else {
      return try await retrying {
        try await self.once(verb, url, moving: nil, connect: connect) { (try await body($0), bytes: 0) }
      }
    }
    // A thousand sessions on a silent host are not aborted one by one.
    let host = CooldownStore.Key.silence(url.origin)
    if let silence = await context.admission.cooldown(host) { throw silence }
    do {
      return try await once(verb, url, moving: nil, connect: connect) { (try await body($0), bytes: 0) }
    } catch {
      let failure = Failure(error)
      if failure.isSilence { await context.admission.coolDown(host, for: Self.silence, failure) }
      throw error
    }
  }

  package nonisolated(nonsending) func pace(_ count: Int, _ direction: Direction) async throws {
    if !isCleanup { try await context.paces.wait(count, direction, directThrottle) }
    directThrottle.count(count)
  }

  package func step(_ most: Int, _ direction: Direction) -> Int {
    guard let rate = rate(direction) else { return most }
    return min(most, max(1024, Int(rate / 32)))
  }

  package func forCleanup() -> any DirectRequests { hasty(tries: 1) }

  package var policy: EffectivePolicy { directPolicy }
}
