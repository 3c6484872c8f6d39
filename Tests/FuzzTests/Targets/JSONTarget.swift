import Foundation
import JobModel

/// A JSON text: what is read is written as the same value, and a second reader takes it, too.
enum JSONTarget {
  static func run(_ bytes: [UInt8]) throws {
    guard let value = JSON(bytes) else { return }
    for indent in [nil, 0] {
      var out: [UInt8] = []
      value.write(to: &out, indent: indent)
      try require(JSON(out) == value, "\(value) is written as \(String(decoding: out, as: UTF8.self))")
    }
    let other = try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
    try require(other != nil, "a second reader does not take it")
    if let members = value.members {
      for member in members { _ = (value[member.name].int64, value[member.name].strings) }
      let names = Set(members.map(\.name))
      try require((other as? [String: Any])?.count == names.count, "other members")
    }
  }
}
