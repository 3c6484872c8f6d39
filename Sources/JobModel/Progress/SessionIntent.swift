/// A session that is about to be opened, recorded before the server is asked: what it was asked under finds it again
/// where a kill came before its record.
package struct SessionIntent: Sendable, Hashable {
  /// The `Idempotency-Key` of the request, where the server knows such keys.
  package var key: String
  /// The file that it was opened for, in the words of the request; sizes in bytes.
  package var size: Int64
  package var contentType: String
  package var chunkSize: Int64
  /// When it was first asked for, in seconds since 1970, where the time is what tells it from others at its destination.
  package var askedAt: Double?
  /// When it was last asked for, as far as that is on record; never before the first time, whatever the clock did.
  package private(set) var lastAskedAt: Double?

  package init(
    key: String, size: Int64, contentType: String, chunkSize: Int64, askedAt: Double? = nil,
    lastAskedAt: Double? = nil
  ) {
    self.key = key
    self.size = size
    self.contentType = contentType
    self.chunkSize = chunkSize
    self.askedAt = askedAt
    self.lastAskedAt = askedAt
    if let lastAskedAt { askedAgain(at: lastAskedAt) }
  }

  /// - Parameter time: seconds since 1970.
  package mutating func askedAgain(at time: Double) { lastAskedAt = max(time, askedAt ?? time) }
}
