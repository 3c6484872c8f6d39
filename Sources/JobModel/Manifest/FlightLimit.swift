/// How many of something may be in flight: a number, or as many as a run finds to pay.
package enum FlightLimit: Sendable, Hashable, ExpressibleByIntegerLiteral {
  case auto
  case number(Int)

  package init(integerLiteral value: Int) { self = .number(value) }

  /// Nil for `auto`.
  package var number: Int? {
    if case .number(let number) = self { number } else { nil }
  }
}
