package import JobModel

/// What a protocol can do for transfers of one direction; a report says it once and refers to it.
package struct Capabilities: Sendable, Hashable {
  package var protocolName: String
  package var direction: Verb
  /// nil until a server has shown it.
  package var isResumable: Bool?
  package var isParallel: Bool?
  /// Digests of the whole file that it promises.
  package var verifiedBy: [String]
  /// What the URLs of its transfers begin with.
  package var url: String?

  package init(
    protocolName: String, direction: Verb, isResumable: Bool?, isParallel: Bool?, verifiedBy: [String]
  ) {
    self.protocolName = protocolName
    self.direction = direction
    self.isResumable = isResumable
    self.isParallel = isParallel
    self.verifiedBy = verifiedBy
  }

  var json: JSON {
    [
      "protocol": .string(protocolName), "direction": .string(direction.rawValue), "url": .text(url),
      "resumable": isResumable.map { .bool($0) } ?? .null, "parallel": isParallel.map { .bool($0) } ?? .null,
      "verified_by": .array(verifiedBy.map { .string($0) }),
    ]
  }
}

extension Capabilities {
  /// The protocol and the direction of a transfer of a report, or of capabilities there.
  static func kind(_ value: JSON) -> String {
    (value["protocol"].string ?? "") + " " + (value["direction"].string ?? "")
  }

  /// By protocol and direction: the first of a report's capabilities, which an ordinary transfer has that names none.
  static func firstNames(in named: JSON) -> [String: String] {
    Dictionary((named.members ?? []).map { (kind($0.value), $0.name) }) { first, _ in first }
  }
}

/// Values that many transfers share, each with a short name to refer to it by.
struct SharedValues<Value: Hashable> {
  private let letter: String
  private(set) var values: [Value] = []
  private var numbers: [Value: Int] = [:]

  /// - Parameter letter: what the names begin with.
  init(_ letter: String) { self.letter = letter }

  mutating func name(_ value: Value) -> String {
    if let number = numbers[value] { return letter + String(number) }
    values.append(value)
    numbers[value] = values.count
    return letter + String(values.count)
  }

  /// Names and values, in the order in which they came.
  func json(_ write: (Value) -> JSON) -> JSON { namedJSON { write($1) } }

  func namedJSON(_ write: (_ name: String, Value) -> JSON) -> JSON {
    .object(
      values.enumerated().map {
        let name = letter + String($0.offset + 1)
        return .init(name, write(name, $0.element))
      })
  }
}
