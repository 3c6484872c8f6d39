package import JobModel

/// Time and chance, so that tests can hold them.
package struct EngineClock: Sendable {
  /// Seconds since 1970.
  package var now: @Sendable () -> Double
  /// 0 ..< 1.
  package var random: @Sendable () -> Double
  /// A time zone by its name; the machine's without one.
  package var zone: @Sendable (String?) -> CivilZone

  package init(
    now: @escaping @Sendable () -> Double, random: @escaping @Sendable () -> Double,
    zone: @escaping @Sendable (String?) -> CivilZone = { _ in .utc }
  ) {
    self.now = now
    self.random = random
    self.zone = zone
  }
}
