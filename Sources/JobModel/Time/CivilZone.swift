/// What a time zone says: how far local clocks are ahead of UTC at an instant, and when that changes next.
package struct CivilZone: Sendable {
  /// Seconds east of UTC at an instant (seconds since 1970).
  package var offset: @Sendable (Double) -> Int
  /// The first instant after this one at which the offset changes; nil where none is known.
  package var nextChange: @Sendable (Double) -> Double?

  package init(
    offset: @escaping @Sendable (Double) -> Int, nextChange: @escaping @Sendable (Double) -> Double?
  ) {
    self.offset = offset
    self.nextChange = nextChange
  }

  package static let utc = CivilZone(offset: { _ in 0 }, nextChange: { _ in nil })

  /// What a wall clock shows, in seconds since 1970-01-01T00:00 of its own.
  package func local(_ instant: Double) -> Double { instant + Double(offset(instant)) }

  /// The first instant from `start` on at which the wall clock shows `local` or later. A time that a change of the
  /// clock leaves out comes with that change; one that comes twice means its first.
  package func instant(ofLocal local: Double, from start: Double) -> Double {
    var from = start
    while self.local(from) < local {
      let plain = local - Double(offset(from))
      guard let change = nextChange(from), change <= plain else { return plain }
      from = change
    }
    return from
  }
}

/// A wall clock's day and time of day.
package struct CivilTime: Sendable, Hashable {
  /// Days since 1970-01-01.
  package var day: Int64
  /// Minutes since midnight, 0 ..< 1440.
  package var minute: Int

  /// - Parameter local: seconds since 1970-01-01T00:00 on the wall clock.
  package init(local: Double) {
    let minutes = Int64(clamping: (local / 60).rounded(.down))
    let (whole, left) = minutes.quotientAndRemainder(dividingBy: 1440)
    (day, minute) = left < 0 ? (whole - 1, Int(left + 1440)) : (whole, Int(left))
  }

  package var weekday: Weekday { Weekday(day: day) }
}

extension Weekday {
  /// Of a day since 1970-01-01, which was a Thursday.
  package init(day: Int64) {
    let index = Int(((day + 3) % 7 + 7) % 7)
    self = Weekday.allCases[index]
  }

  var before: Weekday {
    let week = Weekday.allCases
    return week[((week.firstIndex(of: self) ?? 0) + 6) % 7]
  }
}
