import Endpoints
import JobModel

/// URLs that the server hands out for chunks, in batches.
extension Upload {
  /// The URL for a chunk; nil where the protocol needs none.
  func ticket(for index: Int, _ session: RemoteSession) async throws -> WebURL? {
    while true {
      if let known = tickets[index] { return known }
      if let others = ticketTask {
        // It clears itself before it ends: who wakes up here finds the URL, or nobody asking.
        _ = await others.result
        try Task.checkCancellation()
        continue
      }
      guard let request = remote.tickets(for: wanted(first: index), session: session) else { return nil }
      let task = Task {
        defer { ticketTask = nil }
        let answer = try await requester.call(request)
        let found = try remote.ticketed(answer, session: session, now: context.clock.now()).get()
        tickets.merge(found) { _, new in new }
        guard tickets[index] != nil else {
          throw Failure(.protocolViolation, "\(request.url) gave no URL for part \(index + 1)")
        }
      }
      ticketTask = task
      try await withTaskCancellationHandler {
        try await task.value
      } onCancel: {
        task.cancel()
      }
    }
  }

  /// The chunks to ask for: this one, others that are about to be sent, then those that come next.
  private func wanted(first index: Int) -> [Int] {
    let others = (sending.sorted() + pending.coming(abilities.ticketBatch)).filter {
      $0 != index && tickets[$0] == nil
    }
    return [index] + others.prefix(abilities.ticketBatch - 1)
  }

  /// What was handed out together expires together; another chunk may have seen to that since.
  func dropTickets(with used: WebURL, for index: Int) {
    if tickets[index] == used { tickets = [:] }
  }
}
