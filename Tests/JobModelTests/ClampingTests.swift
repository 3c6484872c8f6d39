import JobModel
import Testing

/// Numbers that others chose end at a type's bounds.
struct ClampingTests {
  @Test func doubles() {
    for (number, wanted) in [
      (0, 0), (-0.5, 0), (1.9, 1), (-1.9, -1), (1e300, .max), (-1e300, .min), (.infinity, .max),
      (-.infinity, .min),
      (.nan, 0), (9_223_372_036_854_775_808, .max), (-9_223_372_036_854_775_808, .min), (4e9, 4_000_000_000),
    ] as [(Double, Int64)] {
      #expect(Int64(clamping: number) == wanted, "\(number)")
    }
    #expect(Int32(clamping: 4e9) == .max && Int32(clamping: -4e9) == .min && UInt64(clamping: -1.0) == 0)
  }

  @Test func sumsAndProducts() {
    for (left, right, sum, product) in [
      (1, 2, 3, 2), (.max, 1, .max, .max), (.min, -1, .min, .max), (.max, .max, .max, .max),
      (.min, .max, -1, .min), (.min, .min, .min, .max), (.max, -2, .max - 2, .min), (0, .min, .min, 0),
    ] as [(Int64, Int64, Int64, Int64)] {
      #expect(left.adding(clamping: right) == sum, "\(left) + \(right)")
      #expect(left.multiplied(clamping: right) == product, "\(left) * \(right)")
    }
  }
}
