/// Whose rate it is: a host's, one way.
package struct HostRate: Sendable, Hashable {
  /// Scheme, host and port.
  package var origin: String
  package var direction: Direction

  package init(origin: String, direction: Direction) {
    self.origin = origin
    self.direction = direction
  }
}
