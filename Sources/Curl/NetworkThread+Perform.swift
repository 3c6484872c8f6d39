extension NetworkThread {
  /// Sends a request and gives its answer to the sink. From an actor on this thread, without a hop.
  /// The task's cancellation takes the request off at once. The sink is called on this thread.
  package nonisolated(nonsending) func perform(
    _ request: CurlRequest, sink: any CurlSink
  ) async throws(CurlError) -> CurlResult {
    let id = request.id
    let outcome = await withTaskCancellationHandler {
      await withUnsafeContinuation { (continuation: UnsafeContinuation<Exchange.Outcome, Never>) in
        let exchange = Exchange(request, sink: sink) { continuation.resume(returning: $0) }
        onThread { self.multi.start(exchange) }
        // A cancellation before this point found nothing to take off.
        if Task.isCancelled { cancel(id) }
      }
    } onCancel: {
      cancel(id)
    }
    return try outcome.get()
  }

  /// Goes on with a request that its sink or its body source paused; of no effect on any other.
  package func resume(_ id: CurlRequestID) {
    onThread { self.multi.resume(id) }
  }

  private func cancel(_ id: CurlRequestID) {
    submit(.work { self.multi.cancel(id) })
  }
}
