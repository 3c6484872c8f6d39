import Endpoints
import JobModel
import Testing

@testable import SFTPClient

/// What is believed of an upload's temporary file.
struct AcknowledgedChunksTests {
  private func chunk(_ receipt: String) -> HeldChunk { HeldChunk(size: 1, receipt: receipt) }

  @Test func whatOneHandleTookIsCertain() {
    var held = AcknowledgedChunks()
    held.keep(0, chunk("a"))
    held.keep(1, chunk("b"), age: held.age)
    #expect(held.doubtful.isEmpty && Set(held.unproved) == [0, 1])
    held.drop(0)
    #expect(Set(held.chunks.keys) == [1] && !held.isCertain(0))
  }

  /// Also what was read back, and what was acknowledged over the handle after another had taken its place.
  @Test func whatIsOlderThanALostHandleIsInDoubt() {
    var held = AcknowledgedChunks()
    held.keep(0, chunk("a"))
    let age = held.age
    held.loseHandle()
    held.keep(1, chunk("b"), age: age)
    held.keep(2, chunk("c"), age: held.age)
    #expect(Set(held.doubtful) == [0, 1] && held.unproved == [2] && held.chunks.count == 3)
    #expect(held.judge(0, chunk("a")) && held.judge(1, chunk("b")))
    #expect(held.doubtful.isEmpty)
    held.loseHandle()
    #expect(held.doubtful.count == 3, "another one was lost")
  }

  @Test func noLostHandlePutsInDoubtWhatIsProved() {
    var held = AcknowledgedChunks()
    for (index, receipt) in ["a", "b", "c"].enumerated() { held.keep(index, chunk(receipt)) }
    held.prove([0, 2, 9])
    held.loseHandle()
    #expect(held.doubtful == [1] && held.proved == [0, 2])
    held.drop(2)
    held.keep(2, chunk("c"))
    held.loseHandle()
    #expect(Set(held.doubtful) == [1, 2], "what is sent again is not proved by what was there before")
  }

  /// Nor forgotten before it is sent again, whatever else fails.
  @Test func whatIsNotThereIsNotHeld() {
    var held = AcknowledgedChunks()
    for (index, receipt) in ["a", "b", "c"].enumerated() { held.keep(index, chunk(receipt)) }
    held.loseHandle()
    held.keep(3, chunk("d"))
    #expect(held.judge(0, chunk("a")) && !held.judge(1, chunk("0")))
    held.refute(held.doubtful)
    #expect(Set(held.chunks.keys) == [0, 3] && held.doubtful.isEmpty)
    held.loseHandle()
    #expect(held.refuted == [1, 2])
    held.keep(1, chunk("b"))
    #expect(held.refuted == [2])
  }

  /// Another file under the temporary name: it is shorter than what was found right, or has been written to since.
  @Test(
    arguments: [
      (20, 5, false), (25, 5, false), (nil, nil, true), (nil, 5, false), (19, 5, true), (20, 6, true),
    ] as [(UInt64?, UInt32?, Bool)])
  func aFileThatIsNotTheOneThatWasRead(_ size: UInt64?, _ modified: UInt32?, _ isOther: Bool) {
    func file(_ size: UInt64?, _ modified: UInt32?) -> SFTPAttributes {
      var file = SFTPAttributes()
      (file.size, file.modified) = (size, modified)
      return file
    }
    let layout = ChunkLayout(size: 35, chunkSize: 10)
    var held = AcknowledgedChunks()
    for index in 0..<2 { held.keep(index, chunk("a")) }
    held.prove([0])
    let now = file(size, modified)
    #expect(held.isOther(now, than: file(20, 5), layout) == isOther)
    #expect(held.isOther(now, than: nil, layout) == (size == 19), "it was written to since")
    held.loseHandle()
    #expect(!held.isOther(now, than: nil, layout), "what is in doubt is read anyway")
    held.doubtAll()
    #expect(held.proved.isEmpty && Set(held.doubtful) == [0, 1])
  }

  /// A server at work for a minute takes nothing: it is asked where it has little to do.
  @Test func aDiskIsAskedEachMinuteOfASlowLine() {
    var pace = SyncPace(1000)
    let most = SyncPace.most
    let taken: [(Int64, now: Double)] = [(1, 1059), (1, 1060), (1, 1061), (most, 1120), (most, 1180)]
    #expect(taken.map { pace.isDue(after: $0.0, now: $0.now) } == [false, true, false, false, true])
  }
}
