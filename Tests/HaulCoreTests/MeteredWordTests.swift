import Testing

@testable import HaulCore

struct MeteredWordTests {
  /// One question that fails does not make a metered connection one that costs nothing.
  @Test func anAnswerOutlivesASilence() {
    var word = MeteredWord()
    word.take(nil, at: 1000)
    #expect(word.value == nil)
    word.take(true, at: 1005)
    word.take(nil, at: 1010)
    word.take(nil, at: 1305)
    #expect(word.value == true)
    word.take(false, at: 1306)
    word.take(nil, at: 1311)
    #expect(word.value == false, "the newer answer")
    word.take(nil, at: 1607)
    #expect(word.value == nil, "nobody has said it for long")
  }
}
