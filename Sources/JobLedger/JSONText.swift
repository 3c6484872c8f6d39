import JobModel

/// Reads back the JSON texts that the ledger itself wrote into its columns.
struct JSONText {
  private let json: JSON

  init(_ text: String) { json = JSON(Array(text.utf8)) ?? .null }
  private init(_ json: JSON) { self.json = json }

  func value(_ name: String) -> JSON { json[name] }
  func string(_ name: String) -> String? { json[name].string }
  func int64(_ name: String) -> Int64? { json[name].int64 }
  func int(_ name: String) -> Int? { int64(name).map { Int($0) } }
  func double(_ name: String) -> Double? { json[name].double }
  func bool(_ name: String) -> Bool? { json[name].bool }
  func strings(_ name: String) -> [String]? { json[name].strings }
  func dictionary(_ name: String) -> [String: String]? { json[name].dictionary }
  func object(_ name: String) -> JSONText? { json[name].members == nil ? nil : JSONText(json[name]) }
  func objects(_ name: String) -> [JSONText]? {
    guard let objects = json[name].array, objects.allSatisfy({ $0.members != nil }) else { return nil }
    return objects.map { JSONText($0) }
  }

  /// All members whose values are text.
  var texts: [String: String] {
    Dictionary(
      (json.members ?? []).compactMap { member in member.value.string.map { (member.name, $0) } },
      uniquingKeysWith: { $1 })
  }
}
