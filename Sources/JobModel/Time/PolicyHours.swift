extension TimeWindow {
  /// Whether a wall clock's time lies in it. What crosses midnight belongs to the day on which it begins.
  package func contains(_ time: CivilTime) -> Bool {
    if from < to { return days.contains(time.weekday) && (from..<to).contains(time.minute) }
    return (days.contains(time.weekday) && time.minute >= from)
      || (days.contains(time.weekday.before) && time.minute < to)
  }

  /// Minutes since midnight at which it may begin or end.
  fileprivate var edges: [Int] { [from, to % 1440] }
}

/// The rates that hold at a moment.
package struct Bandwidth: Sendable, Hashable {
  package var download: Rate
  package var upload: Rate
  package init(download: Rate, upload: Rate) {
    self.download = download
    self.upload = upload
  }
}

/// What a policy says about hours, at instants (seconds since 1970) of its zone.
package struct PolicyHours: Sendable {
  private let policy: EffectivePolicy
  private let zone: CivilZone

  package init(_ policy: EffectivePolicy, zone: CivilZone) {
    self.policy = policy
    self.zone = zone
  }

  /// The rates at an instant: of the first entry of `schedule` that matches, else `bandwidth`. A direction that an
  /// entry does not speak of keeps the policy's.
  package func bandwidth(at instant: Double) -> Bandwidth {
    let time = CivilTime(local: zone.local(instant))
    let entry = policy.schedule.first { $0.window.contains(time) }
    return Bandwidth(
      download: entry?.download ?? policy.downloadRate, upload: entry?.upload ?? policy.uploadRate)
  }

  /// Whether transfers may move: always where there is no `window`.
  package func isOpen(at instant: Double) -> Bool {
    let time = CivilTime(local: zone.local(instant))
    return policy.window.isEmpty || policy.window.contains { $0.contains(time) }
  }

  /// The next instant at which a window opens; nil where that is not within four weeks.
  package func nextOpening(after instant: Double) -> Double? {
    changes(policy.window, after: instant).first { isOpen(at: $0) }
  }

  /// The next instant at which rates or `isOpen` may be other than they are.
  package func nextChange(after instant: Double) -> Double? {
    let (rates, open) = (bandwidth(at: instant), isOpen(at: instant))
    return changes(policy.window + policy.schedule.map(\.window), after: instant)
      .first { bandwidth(at: $0) != rates || isOpen(at: $0) != open }
  }

  /// Instants at which one of the windows may begin or end, for four weeks: edges of the wall clock, and its changes.
  private func changes(_ windows: [TimeWindow], after instant: Double) -> [Double] {
    guard !windows.isEmpty else { return [] }
    let edges = Set(windows.flatMap(\.edges))
    let today = CivilTime(local: zone.local(instant)).day
    var found: Set<Double> = []
    // A clock that goes back shows the day's hours again: they are looked for from its change on as well.
    var starts = [instant]
    let last = instant + 28 * 86_400
    while let change = zone.nextChange(starts[starts.count - 1]), change < last, starts.count < 16 {
      starts.append(change)
      found.insert(change)
    }
    for day in today - 1...today + 29 {
      for edge in edges {
        let local = Double(day * 86_400) + Double(edge) * 60
        for start in starts where zone.local(start) < local {
          found.insert(zone.instant(ofLocal: local, from: start))
        }
      }
    }
    return found.filter { $0 > instant }.sorted()
  }
}
