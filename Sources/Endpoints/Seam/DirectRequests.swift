package import JobModel

/// Lets the requests of a kind that does not speak HTTP go as its policy, its host and its transfer say, counts them, and
/// makes them again after passing faults: what a `Requester` does for HTTP. Belongs to one transfer's actor.
package protocol DirectRequests: AnyObject {
  /// Makes one request: waits for its admission, tries once, and tells the host's limits how it ended.
  ///
  /// - Parameters:
  ///   - verb: names the request in messages.
  ///   - url: whose host the policy judges, before anything is sent or a secret is resolved.
  ///   - direction: which way a body goes; nil where there is none.
  ///   - connect: brings what the request goes over.
  ///   - body: the request; it gives how many bytes of a body it moved.
  nonisolated(nonsending) func once<Connection, Value>(
    _ verb: String, _ url: WebURL, moving direction: Direction?,
    connect: nonisolated(nonsending) () async throws -> Connection,
    _ body: nonisolated(nonsending) (Connection) async throws -> (Value, bytes: Int64)
  ) async throws -> Value
  /// Makes a request without a body, again after passing faults.
  nonisolated(nonsending) func call<Connection, Value>(
    _ verb: String, _ url: WebURL, connect: nonisolated(nonsending) () async throws -> Connection,
    _ body: nonisolated(nonsending) (Connection) async throws -> Value
  ) async throws -> Value
  /// Waits until so many bytes of a body may go by the rate limits, and counts them.
  nonisolated(nonsending) func pace(_ count: Int, _ direction: Direction) async throws
  /// Bytes that may go at once under the rate limits; at most `most`.
  func step(_ most: Int, _ direction: Direction) -> Int
  /// Requests for cleaning up: they are made once, wait some seconds at most, and for no host.
  func forCleanup() -> any DirectRequests
  /// What holds for them: those for cleaning up wait for less.
  var policy: EffectivePolicy { get }
}

/// Reads, writes and lists files over SFTP. What the kind's values describe is done behind it.
package protocol SFTPService: Sendable {
  func source(_ download: SFTPDownload, _ engine: EngineServices) -> any RemoteSource
  func sink(_ upload: SFTPUpload, _ engine: EngineServices) -> any RemoteSink
  nonisolated(nonsending) func page(
    _ page: String?, of prefix: String, in listing: SFTPListing, _ engine: EngineServices
  ) async throws -> ListedPage
}
