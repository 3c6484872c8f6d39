import Testing

@testable import DepotServer

@Suite struct HTTPDateTests {
  @Test func reads() { #expect(HTTPDate.parse("Sun, 06 Nov 1994 08:49:37 GMT") == 784_111_777) }

  /// A year beyond a C int's reach once ended the server.
  @Test(arguments: [
    "Sun, 06 Nov -2147483648 08:49:37 GMT", "Sun, 06 Nov 2147483647 08:49:37 GMT",
    "Sun, 06 Nov 1994 2147483647:2147483647:2147483647 GMT", "Sun, 0 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 08:-1:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 06 Nov 0 08:49:37 GMT",
  ])
  func refuses(text: String) { #expect(HTTPDate.parse(text) == nil) }
}
