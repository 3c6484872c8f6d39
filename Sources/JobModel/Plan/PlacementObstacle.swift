/// Why what a listing found can't stand below the destination: its transfer fails by itself, others go on.
package enum PlacementObstacle: String, Sendable, Hashable, CaseIterable {
  /// It holds a NUL byte.
  case nul
  /// Its `..` lead above the fixed part of the destination.
  case climbs
  /// It ends in `.` or `..`.
  case unnamed
  /// It is named like a part file of haul's own.
  case partFile = "part_file"
  /// Its kind of endpoint refuses it.
  case unfit

  package func failure(_ source: String) -> Failure {
    let reason =
      switch self {
      case .nul: "its name holds a NUL byte, which no file's name can"
      case .climbs: "its name climbs above the fixed part of `to`"
      case .unnamed: "its name ends in `.` or `..`, which no file's name can"
      case .partFile: "its name is one that haul keeps for its own part files (`.NAME.TAG.haul-part`)"
      case .unfit:
        "its name has a part that the destination's endpoint does not take, like a folder `.` or `..`"
      }
    return Failure(.permissionDenied, "`\(source)` is not transferred: \(reason)")
  }
}
