import Foundation
import JobLedger
import JobModel

/// A folder that goes away with the value.
final class TemporaryFolder: Sendable {
  let path: String

  init() {
    path = FileManager.default.temporaryDirectory.path + "/haul-ledger-" + UUID().uuidString
    try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  var database: String { path + "/plan.sqlite" }

  func ledger() throws -> JobLedger { try JobLedger(folder: path, mayMigrate: true) }
}

/// One transfer of a plan, with what the tests vary.
struct Entry {
  var id: String
  var source = "https://h/a"
  var destination = "out/a"
  var identity: UInt8 = 1
  var expect = Expectation()
  var settings = TransferSettings(direction: .download)
  var knownSize: Int64?

  var planned: PlannedTransfer {
    PlannedTransfer(
      id: id, source: Place(source), destination: Place(destination), destinationIdentity: destination,
      settings: settings, expect: expect, knownSize: knownSize,
      mark: SourceMark(file: "job", line: 1, column: 1))
  }
}

extension JobLedger {
  @discardableResult
  func compile(_ entries: [Entry]) throws -> PlanChange {
    try compile { add in
      for entry in entries { try add(entry.planned, [UInt8](repeating: entry.identity, count: 8)) }
    }
  }

  func all() throws -> [LedgerTransfer] { try page(after: 0, onlyTouched: false, limit: 1000) }
}
