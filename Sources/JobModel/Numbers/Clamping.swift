/// Arithmetic on numbers that others chose: it ends at the type's bounds, and never traps.
extension FixedWidthInteger {
  /// The nearest value, rounded toward zero; 0 for what is not a number.
  package init(clamping number: Double) {
    if number.isNaN {
      self = 0
    } else if number >= Double(Self.max) {
      // `max` itself may have no Double: the next one is above it.
      self = .max
    } else if number <= Double(Self.min) {
      self = .min
    } else {
      self = Self(number)
    }
  }

  package func adding(clamping other: Self) -> Self {
    let (sum, overflows) = addingReportingOverflow(other)
    return overflows ? (other < 0 ? .min : .max) : sum
  }

  package func multiplied(clamping other: Self) -> Self {
    let (product, overflows) = multipliedReportingOverflow(by: other)
    return overflows ? ((self < 0) != (other < 0) ? .min : .max) : product
  }
}
