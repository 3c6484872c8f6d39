/// How many connections a network thread opens; requests beyond that wait, and their time limits with them.
package struct ConnectionLimits: Sendable, Hashable {
  package var total: Int
  /// To one scheme, host and port.
  package var perOrigin: Int

  package init(total: Int = 256, perOrigin: Int = 256) {
    self.total = max(1, total)
    self.perOrigin = max(1, perOrigin)
  }
}
