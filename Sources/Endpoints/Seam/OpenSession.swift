/// A session that a server has open for a destination.
package struct OpenSession: Sendable, Hashable {
  package var id: String
  /// Seconds since 1970, by the server's clock.
  package var openedAt: Double

  package init(id: String, openedAt: Double) {
    self.id = id
    self.openedAt = openedAt
  }
}
