import Endpoints
import Testing

@testable import SFTPClient

/// What is believed of an upload's temporary file.
struct AcknowledgedChunksTests {
  private func chunk(_ receipt: String) -> HeldChunk { HeldChunk(size: 1, receipt: receipt) }

  @Test func whatOneHandleTookIsCertain() {
    var held = AcknowledgedChunks()
    held.keep(0, chunk("a"))
    held.keep(1, chunk("b"), age: held.age)
    #expect(!held.isInDoubt && Set(held.certain.keys) == [0, 1])
    held.drop(0)
    #expect(Set(held.chunks.keys) == [1])
  }

  /// Also what was read back, and what was acknowledged over the handle after another had taken its place.
  @Test func whatIsOlderThanALostHandleIsInDoubt() {
    var held = AcknowledgedChunks()
    held.keep(0, chunk("a"))
    let age = held.age
    held.loseHandle()
    held.keep(1, chunk("b"), age: age)
    held.keep(2, chunk("c"), age: held.age)
    #expect(held.isInDoubt && Set(held.certain.keys) == [2] && held.chunks.count == 3)
    #expect(held.settle([0: chunk("a"), 1: chunk("b")]) == 0)
    #expect(!held.isInDoubt && held.certain.count == 3)
    held.loseHandle()
    #expect(held.certain.isEmpty, "another one was lost")
  }

  @Test func whatIsNotThereIsNotHeld() {
    var held = AcknowledgedChunks()
    for (index, receipt) in ["a", "b", "c"].enumerated() { held.keep(index, chunk(receipt)) }
    held.loseHandle()
    held.keep(3, chunk("d"))
    #expect(held.settle([0: chunk("a"), 1: chunk("0")]) == 2)
    #expect(Set(held.chunks.keys) == [0, 1, 3] && held.chunks[1]?.receipt == "0" && !held.isInDoubt)
  }
}
