import Foundation
import JobModel

/// Time zones as the system knows them.
enum Zones {
  /// By its IANA name; the machine's own where there is no name, or none of that name any more.
  @Sendable static func find(_ name: String?) -> CivilZone {
    let zone = name.flatMap(TimeZone.init(identifier:)) ?? TimeZone.current
    return CivilZone(
      offset: { zone.secondsFromGMT(for: Date(timeIntervalSince1970: $0)) },
      nextChange: {
        zone.nextDaylightSavingTimeTransition(after: Date(timeIntervalSince1970: $0))?.timeIntervalSince1970
      })
  }
}
