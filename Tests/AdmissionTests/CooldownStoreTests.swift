import JobModel
import Testing

@testable import Admission

struct CooldownStoreTests {
  private let rest = Failure(.rateLimited, "slow down", httpStatus: 429, retryAfter: 3600)
  private let silence = Failure(.networkUnreachable, "refused")

  /// A transfer's rest is its endpoint's, silence a host's: neither is the other, and both end by themselves.
  @Test func keysAreApartAndEnd() {
    var store = CooldownStore()
    store.note(.endpoint("a"), until: 3700, rest)
    store.note(.silence("a"), until: 130, silence)
    #expect(store.current(.endpoint("a"), now: 700)?.failure.retryAfter == 3000)
    #expect(store.current(.endpoint("a"), now: 3700) == nil)
    #expect(store.current(.silence("a"), now: 129)?.failure == silence)
    #expect(store.current(.silence("a"), now: 130) == nil)
    for key in [CooldownStore.Key.origin("a"), .endpoint("b"), .silence("b")] {
      #expect(store.current(key, now: 100) == nil)
    }
  }

  @Test func theLaterEndCounts() {
    var store = CooldownStore()
    for end in [10.0, 30, 20] { store.note(.origin("a"), until: end, rest) }
    #expect(store.current(.origin("a"), now: 25)?.until == 30)
  }

  /// What an answer said, whatever it asks for, is no silence.
  @Test func whatIsSilence() {
    #expect(silence.isSilence && Failure(.timeout, "").isSilence)
    #expect(!rest.isSilence && !Failure(.timeout, "", httpStatus: 504).isSilence)
  }
}
