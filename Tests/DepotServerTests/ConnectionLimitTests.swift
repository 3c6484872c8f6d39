import Testing

@testable import DepotServer

@Suite struct ConnectionLimitTests {
  @Test(arguments: [(256, 2, 93), (1024, 64, 384), (64, 8, 16), (Int.max, 2, (Int.max - 70) / 2)])
  func fits(openFiles: Int, cores: Int, expected: Int) {
    #expect(ConnectionLimit.connections(openFiles: openFiles, cores: cores) == expected)
  }
}
