/// Reads back the JSON texts that the ledger itself wrote into its columns.
///
/// Not by Foundation: a report of all transfers reads several texts of each, and boxed values cost ten times as much.
struct JSONText {
  private let members: [JSONValue.Member]

  /// Without members where the text is no object.
  init(_ text: String) {
    if case .object(let members)? = JSONValue(text) { self.members = members } else { members = [] }
  }
  private init(members: [JSONValue.Member]) { self.members = members }

  private func value(_ name: String) -> JSONValue? { members.last { $0.name == name }?.value }

  func string(_ name: String) -> String? {
    if case .string(let text)? = value(name) { text } else { nil }
  }
  func int64(_ name: String) -> Int64? {
    switch value(name) {
    case .integer(let number): number
    case .number(let number): Int64(exactly: number.rounded(.towardZero))
    default: nil
    }
  }
  func int(_ name: String) -> Int? { int64(name).map { Int($0) } }
  func double(_ name: String) -> Double? {
    switch value(name) {
    case .integer(let number): Double(number)
    case .number(let number): number
    default: nil
    }
  }
  func bool(_ name: String) -> Bool? {
    if case .bool(let value)? = value(name) { value } else { nil }
  }
  /// Nil where not all are texts.
  func strings(_ name: String) -> [String]? {
    guard case .array(let values)? = value(name) else { return nil }
    let texts = values.compactMap(\.text)
    return texts.count == values.count ? texts : nil
  }
  /// Nil where not all values are texts.
  func dictionary(_ name: String) -> [String: String]? {
    guard let object = object(name) else { return nil }
    let texts = object.texts
    return texts.count == object.members.count ? texts : nil
  }
  func object(_ name: String) -> JSONText? {
    if case .object(let members)? = value(name) { JSONText(members: members) } else { nil }
  }
  /// Nil where not all are objects.
  func objects(_ name: String) -> [JSONText]? {
    guard case .array(let values)? = value(name) else { return nil }
    let objects = values.compactMap { value in
      if case .object(let members) = value { JSONText(members: members) } else { nil }
    }
    return objects.count == values.count ? objects : nil
  }

  /// All members whose values are text.
  var texts: [String: String] {
    var texts: [String: String] = [:]
    for member in members { if let text = member.value.text { texts[member.name] = text } }
    return texts
  }
}
