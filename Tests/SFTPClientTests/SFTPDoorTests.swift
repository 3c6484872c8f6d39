import Testing

@testable import SFTPClient

/// Which kinds of host key a server is asked for.
struct SFTPDoorTests {
  /// A server that shows a kind that was not asked for would be asked again for ever.
  @Test func eachKindIsAskedForOnce() {
    #expect(SFTPDoor.others(["a", "b", "c"], besides: "a") == ["b", "c"])
    #expect(SFTPDoor.others(["b"], besides: "b") == nil)
    #expect(SFTPDoor.others(["b", "c"], besides: "a") == nil)
  }
}
