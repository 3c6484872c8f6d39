/// `where`: which entries of a fan-out are meant, by their size and the time of their last change.
package struct EntryBounds: Sendable, Hashable {
  /// A time in the manifest, or one that counts back from the run's start.
  package enum Moment: Sendable, Hashable {
    /// Seconds since 1970.
    case at(Double)
    /// Seconds before the run's start.
    case ago(Double)

    package func seconds(startedAt: Double) -> Double {
      switch self {
      case .at(let seconds): seconds
      case .ago(let seconds): startedAt - seconds
      }
    }
  }

  /// What an entry is to `where`.
  package enum Finding: Sendable, Hashable {
    case meant, leftOut
    /// Its size, or its time, is not known.
    case untold(String)
  }

  /// Bytes; an entry of just so many is meant.
  package var minSize: Int64?
  package var maxSize: Int64?
  /// An entry of this very time is meant.
  package var after: Moment?
  /// An entry of this very time is left out.
  package var before: Moment?
  /// Where it is written.
  package var mark: SourceMark
  package var lineText: String

  package init(mark: SourceMark, lineText: String) {
    self.mark = mark
    self.lineText = lineText
  }

  /// Another run means other entries: a time counts back from its start.
  package var countsBack: Bool {
    [after, before].contains { moment in
      if case .ago? = moment { true } else { false }
    }
  }

  /// - Parameters:
  ///   - size: bytes, where they are known.
  ///   - modified: seconds since 1970, where they are known.
  ///   - startedAt: when the run started, in seconds since 1970.
  package func judge(size: Int64?, modified: Double?, startedAt: Double) -> Finding {
    var isMeant = true
    if minSize != nil || maxSize != nil {
      guard let size else { return .untold("size") }
      isMeant = size >= minSize ?? 0 && size <= maxSize ?? .max
    }
    if after != nil || before != nil {
      guard let modified else { return .untold("time") }
      if let after { isMeant = isMeant && modified >= after.seconds(startedAt: startedAt) }
      if let before { isMeant = isMeant && modified < before.seconds(startedAt: startedAt) }
    }
    return isMeant ? .meant : .leftOut
  }

  /// Reads a duration, a date (midnight, UTC) or an RFC 3339 time.
  package static func moment(_ text: String) throws(ValueFault) -> Moment {
    if let seconds = try? Units.duration(text) { return .ago(seconds) }
    let day = String(text.prefix(10))
    // A 30th of February is read as a day of March: the date it comes to is another one then.
    if let midnight = Timestamp.seconds(day + "T00:00:00Z"), Timestamp.date(midnight) == day {
      if day == text { return .at(midnight) }
      if let seconds = Timestamp.seconds(text) { return .at(seconds) }
    }
    throw ValueFault(
      "`\(text)` is not a time",
      hint: "a duration like `2d` counts back from the run's start; else a date like `2026-01-31` (UTC), "
        + "or a time like `2026-01-31T06:00:00Z`")
  }

  /// Nothing lies between the two, whenever the run starts.
  package static func isEmpty(after: Moment, before: Moment) -> Bool {
    switch (after, before) {
    case (.at(let first), .at(let last)): first >= last
    case (.ago(let first), .ago(let last)): first <= last
    case (.at, .ago), (.ago, .at): false
    }
  }
}
