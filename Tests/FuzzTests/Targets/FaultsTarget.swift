import FoundationEssentials
import HTTPTypes

@testable import DepotServer

/// A fault file: read, and applied to requests.
enum FaultsTarget {
  static func run(_ bytes: [UInt8]) throws {
    guard let rules = try? JSONDecoder().decode([FaultRule].self, from: Data(bytes)) else { return }
    let book = FaultBook(rules: rules)
    for path in ["/files/a", "/uploads/sessions/us-1/chunks/0", "/"] {
      for _ in 0..<3 {
        let head = HTTPRequest(
          method: .get, scheme: "http", authority: "h", path: path, headerFields: [.range: "bytes=0-1"])
        let plan = book.plan(for: head)
        for amount in [
          plan[\.dropAfter], plan[\.dropUploadAfter], plan[\.flipBit], plan[\.flipUploadBit], plan[\.shortBy],
          plan[\.longBy], plan[\.rate], plan[\.uploadRate], plan[\.shiftRange],
        ] {
          guard let amount else { continue }
          // Offsets of files are added to it.
          try require((0...1 << 60).contains(amount), "an amount of \(amount)")
        }
        if let delay = plan[\.delay] { try require(delay >= .zero, "\(delay)") }
        if let status = plan[\.status] { try require((200...599).contains(status), "status \(status)") }
      }
    }
  }
}
