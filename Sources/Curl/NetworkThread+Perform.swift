extension NetworkThread {
  /// Sends a request and gives its answer to the sink. From an actor on this thread, without leaving it.
  /// The task's cancellation takes the request off at once. The sink is called on this thread.
  package func perform(
    _ request: CurlRequest, sink: any CurlSink, isolation: isolated (any Actor)? = #isolation
  ) async throws(CurlError) -> CurlResult {
    // A continuation resumes on the task's preferred executor before it goes back to its actor's: with the
    // global one that would be two thread hops a request.
    let isPreferred = withUnsafeCurrentTask { $0?.unownedTaskExecutor == asUnownedTaskExecutor() }
    guard !isPreferred else { return try await outcome(request, sink, isolation).get() }
    return try await withTaskExecutorPreference(self) { await outcome(request, sink, isolation) }.get()
  }

  private func outcome(
    _ request: CurlRequest, _ sink: any CurlSink, _ isolation: isolated (any Actor)?
  ) async -> Exchange.Outcome {
    let id = request.id
    return await withTaskCancellationHandler {
      // Naming it keeps the closure on the caller's actor.
      _ = isolation
      return await withUnsafeContinuation { (continuation: UnsafeContinuation<Exchange.Outcome, Never>) in
        let exchange = Exchange(request, sink: sink) { continuation.resume(returning: $0) }
        onThread { self.multi.start(exchange) }
        // A cancellation before this point found nothing to take off.
        if Task.isCancelled { cancel(id) }
      }
    } onCancel: {
      cancel(id)
    }
  }

  /// Goes on with a request that its sink or its body source paused; of no effect on any other.
  package func resume(_ id: CurlRequestID) {
    onThread { self.multi.resume(id) }
  }

  /// Makes the receive buffer of a running request's socket so large; nil gives it back to the kernel. To be called on
  /// this thread.
  package func fit(_ id: CurlRequestID, receiveBuffer: Int?) {
    multi.fit(id, receiveBuffer)
  }

  private func cancel(_ id: CurlRequestID) {
    submit(.work { self.multi.cancel(id) })
  }
}
