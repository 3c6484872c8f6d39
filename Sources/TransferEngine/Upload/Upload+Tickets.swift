import JobModel
import Protocols

/// URLs that the server hands out for chunks, in batches.
extension Upload {
  /// The URL for a chunk; nil where the protocol needs none.
  func ticket(for index: Int, _ session: RemoteSession) async throws -> WebURL? {
    while true {
      if let known = tickets[index] { return known }
      if let others = ticketTask {
        _ = await others.result
        continue
      }
      let wanted = [index] + pending.coming(abilities.ticketBatch - 1).filter { tickets[$0] == nil }
      guard let request = remote.tickets(for: wanted, session: session) else { return nil }
      let task = Task {
        let answer = try await requester.call(request)
        let found = try value(remote.ticketed(answer, session: session, now: context.clock.now()))
        tickets.merge(found) { _, new in new }
      }
      ticketTask = task
      defer { ticketTask = nil }
      try await withTaskCancellationHandler {
        try await task.value
      } onCancel: {
        task.cancel()
      }
      guard tickets[index] != nil else {
        throw Failure(.protocolViolation, "\(request.url) gave no URL for part \(index + 1)")
      }
    }
  }
}
