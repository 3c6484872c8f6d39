import Endpoints
import Testing

@testable import HTTPClient

/// Ends a request once its head says enough.
struct HeadOnlyWriterTests {
  @Test(arguments: [
    (200, false, true, true), (206, false, true, false), (200, true, false, true), (206, true, false, false),
    (404, false, false, false), (503, true, false, false),
  ])
  func whatIsEnough(_ status: Int, _ readsBody: Bool, _ headEnds: Bool, _ bodyEnds: Bool) {
    let writer = HeadOnlyWriter(readsBody: readsBody)
    func ends(_ call: () throws -> Void) -> Bool {
      do { try call() } catch { return error is HeadOnlyWriter.Enough }
      return false
    }
    #expect(ends { try writer.head(ResponseHead(status: status)) } == headEnds)
    #expect(writer.responseHead?.status == status)
    let bytes = [UInt8](repeating: 65, count: 70_000)
    #expect(ends { try bytes.withUnsafeBytes { try writer.body($0) } } == bodyEnds)
    #expect(writer.text.count == (status >= 300 ? 65_536 : 0), "a refusal's text has a limit")
  }
}
