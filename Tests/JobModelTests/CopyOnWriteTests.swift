import Testing

@testable import JobModel

@Suite struct CopyOnWriteTests {
  private struct Held: Hashable {
    @CopyOnWrite var texts = ["a"]
    @CopyOnWriteOptional var note: String? = nil
  }

  @Test("a copy keeps its value when the other one is changed in place or anew")
  func copiesAreApart() {
    let first = Held()
    var second = first
    second.texts.append("b")
    second.note = "n"
    #expect(first.texts == ["a"] && first.note == nil)
    #expect(second.texts == ["a", "b"] && second.note == "n")
    var third = second
    third.texts = []
    third.note?.append("!")
    #expect(second.texts == ["a", "b"] && second.note == "n")
    #expect(third.texts.isEmpty && third.note == "n!")
  }

  @Test("what is the same is equal and hashes alike, shared or not")
  func equality() {
    var (first, second) = (Held(), Held())
    #expect(first == second && first.hashValue == second.hashValue)
    first.note = "n"
    #expect(first != second)
    second.note = "n"
    #expect(first == second && first.hashValue == second.hashValue)
    second.texts = ["b"]
    #expect(first != second)
  }

  @Test("a copy costs a reference: it shares the value's place")
  func sharing() {
    let first = CopyOnWrite(wrappedValue: Array(repeating: 1, count: 100))
    var second = first
    #expect(first.storage === second.storage)
    second.wrappedValue[0] = 2
    #expect(first.storage !== second.storage && MemoryLayout<CopyOnWrite<[Int]>>.size == 8)
  }
}
