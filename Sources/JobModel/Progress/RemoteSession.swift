/// An upload session as its protocol knows it; recorded as soon as the server has opened it.
package struct RemoteSession: Sendable, Hashable {
  /// Session id, upload id or upload URL.
  package var id: String
  /// Bytes a chunk, as agreed with the server.
  package var chunkSize: Int64
  /// Seconds since 1970.
  package var expiresAt: Double?
  /// Headers that must go with every chunk.
  package var requiredHeaders: [String: String]
  /// What else the protocol must remember, by its own names.
  package var facts: [String: String]

  package init(
    id: String, chunkSize: Int64, expiresAt: Double? = nil, requiredHeaders: [String: String] = [:],
    facts: [String: String] = [:]
  ) {
    self.id = id
    self.chunkSize = chunkSize
    self.expiresAt = expiresAt
    self.requiredHeaders = requiredHeaders
    self.facts = facts
  }
}
