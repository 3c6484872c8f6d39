import Foundation
import JobModel

/// Reads back the JSON texts that the ledger itself wrote into its columns.
struct JSONText {
  private let members: [String: Any]

  init(_ text: String) {
    members = (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: Any] ?? [:]
  }
  private init(members: [String: Any]) { self.members = members }

  func string(_ name: String) -> String? { members[name] as? String }
  func int64(_ name: String) -> Int64? { (members[name] as? NSNumber)?.int64Value }
  func int(_ name: String) -> Int? { int64(name).map { Int($0) } }
  func double(_ name: String) -> Double? { (members[name] as? NSNumber)?.doubleValue }
  func bool(_ name: String) -> Bool? { members[name] as? Bool }
  func strings(_ name: String) -> [String]? { members[name] as? [String] }
  func dictionary(_ name: String) -> [String: String]? { members[name] as? [String: String] }
  func object(_ name: String) -> JSONText? { (members[name] as? [String: Any]).map(JSONText.init(members:)) }
  func objects(_ name: String) -> [JSONText]? {
    (members[name] as? [[String: Any]])?.map(JSONText.init(members:))
  }

  /// All members whose values are text.
  var texts: [String: String] { members.compactMapValues { $0 as? String } }
}
