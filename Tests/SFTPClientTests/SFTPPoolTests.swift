import Testing

@testable import SFTPClient

/// Which connection a newcomer gets.
struct SFTPPoolTests {
  private typealias Offer = SFTPPool.Offer
  private static func open(_ users: Int, isSilent: Bool = false) -> Offer {
    Offer(isOpen: true, users: users, isSilent: isSilent)
  }
  private static let opening = Offer(isOpen: false, users: 1, isSilent: false)

  @Test func anIdleOneComesFirst() {
    #expect(SFTPPool.choice([], most: 4) == nil)
    #expect(SFTPPool.choice([Self.open(1), Self.open(0)], most: 4) == 1)
    #expect(SFTPPool.choice([Self.open(1)], most: 4) == nil)
    #expect(SFTPPool.choice([Self.open(2), Self.open(1)], most: 2) == 1)
    #expect(SFTPPool.choice([Self.opening, Self.open(1)], most: 2) == 1)
    #expect(
      SFTPPool.choice([Self.opening, Self.opening, Self.opening], most: 4) != nil, "few are opened at once")
  }

  /// Who is put on a connection that has died, and that somebody waits on for ten minutes, would wait in vain.
  @Test func aSilentOneComesLast() {
    let silent = Self.open(1, isSilent: true)
    #expect(SFTPPool.choice([silent, Self.open(9)], most: 2) == 1)
    #expect(SFTPPool.choice([silent, Self.opening], most: 2) == 1)
    #expect(SFTPPool.choice([Self.open(0, isSilent: true)], most: 2) == nil)
    #expect(SFTPPool.choice([silent], most: 1) == 0, "the limit is kept")
  }
}
