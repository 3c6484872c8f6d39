import Glibc
package import JobModel
import Locks
import Posix

/// Time zones as the system knows them: the files of tzdata, the variable TZ, and /etc/localtime.
package enum TimeZones {
  private static let folder = "/usr/share/zoneinfo/"
  private static let known = Locked<[String: ZoneHistory]>([:])

  /// The system has the files at all.
  package static var areInstalled: Bool { Files.isFolder(folder) }

  /// A zone by its IANA name; nil where there is none.
  package static func named(_ name: String) -> CivilZone? { history(name).map(CivilZone.init) }

  /// A zone by its IANA name; the machine's own where there is no name, or none of that name any more.
  @Sendable package static func find(_ name: String?) -> CivilZone { name.flatMap(named) ?? local }

  /// The machine's own, found as tzset(3) does; UTC where nothing says which.
  private static let local: CivilZone = {
    guard let variable = getenv("TZ").map({ String(cString: $0) }) else {
      return (file("/etc/localtime")).map(CivilZone.init) ?? .utc
    }
    let name = String(variable.drop { $0 == ":" })
    let given =
      name.hasPrefix("/") ? file(name) : history(name) ?? ZoneRule(name.utf8).map { ZoneHistory($0) }
    return given.map(CivilZone.init) ?? .utc
  }()

  private static func history(_ name: String) -> ZoneHistory? {
    if let zone = known.withLock({ $0[name] }) { return zone }
    let parts = name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    // Never a file outside of the folder, nor its copies that count otherwise.
    guard parts.allSatisfy({ !$0.isEmpty && $0.first != UInt8(ascii: ".") }),
      !["posix", "right"].contains(parts.first.map { String(Substring($0)) }), let zone = file(folder + name)
    else { return nil }
    known.withLock { $0[name] = zone }
    return zone
  }

  private static func file(_ path: String) -> ZoneHistory? {
    (try? Files.read(path)).flatMap(ZoneHistory.init)
  }
}

extension CivilZone {
  fileprivate init(_ zone: ZoneHistory) {
    self.init(offset: { zone.offset(at: $0) }, nextChange: { zone.nextChange(after: $0) })
  }
}
