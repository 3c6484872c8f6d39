import Testing

@testable import Admission

struct AIMDWindowTests {
  struct Narrowing: Sendable, CustomStringConvertible {
    var size: Double?
    var inFlight: Int
    var becomes: Double
    var isNarrower: Bool
    var description: String { "\(size ?? .infinity), \(inFlight) in flight" }
  }

  @Test(arguments: [
    Narrowing(size: nil, inFlight: 8, becomes: 4, isNarrower: true),
    Narrowing(size: nil, inFlight: 5, becomes: 2, isNarrower: true),
    Narrowing(size: nil, inFlight: 0, becomes: 1, isNarrower: true),
    Narrowing(size: 6, inFlight: 8, becomes: 3, isNarrower: true),
    Narrowing(size: 6, inFlight: 2, becomes: 1, isNarrower: true),
    Narrowing(size: 1, inFlight: 1, becomes: 1, isNarrower: false),
  ]) func itIsHalved(_ narrowing: Narrowing) {
    var window = AIMDWindow(size: narrowing.size)
    #expect(window.narrow(begun: 1, now: 2, inFlight: narrowing.inFlight) == narrowing.isNarrower)
    #expect(window.size == narrowing.becomes)
    #expect(!window.hasRoom(Int(narrowing.becomes)) && window.hasRoom(Int(narrowing.becomes) - 1))
  }

  @Test func itIsHalvedOnceForWhatWasUnderWay() {
    var window = AIMDWindow()
    _ = window.narrow(begun: 1, now: 2, inFlight: 8)
    #expect(window.narrow(begun: 1.9, now: 2.5, inFlight: 8) == nil)
    #expect(window.size == 4)
    #expect(window.narrow(begun: 2, now: 3, inFlight: 4) == true)
    #expect(window.size == 2)
  }

  @Test func itWidensByOneForEachWindowOfAnswers() {
    var window = AIMDWindow(size: 2)
    var (responses, news) = (0, 0)
    while window.size.isFinite, responses < 1000 {
      if window.widen(limit: 8) { news += 1 }
      responses += 1
    }
    // 2 + 3 + … + 7, a little more as the window grows within each round.
    #expect((27...36).contains(responses) && news == 1, "\(responses)")
    #expect(window.widen(limit: 8) == false)
    #expect(window.hasRoom(1000))
  }
}
