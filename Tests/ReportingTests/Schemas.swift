import Foundation
import Testing

/// Validates what the writers write with the schemas that the project publishes.
enum Schemas {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appending(path: "schemas").path

  /// What is wrong with the documents, one a line; empty where nothing is.
  static func faults(_ name: String, _ documents: [[UInt8]]) throws -> String {
    let script = """
      import json, sys, jsonschema
      schema = json.load(open(sys.argv[1]))
      jsonschema.Draft202012Validator.check_schema(schema)
      check = jsonschema.Draft202012Validator(schema)
      for line in sys.stdin:
          for fault in check.iter_errors(json.loads(line)):
              print("/".join(map(str, fault.absolute_path)), fault.message[:300])
      """
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["python3", "-c", script, "\(folder)/\(name).schema.json"]
    let input = Pipe()
    let output = Pipe()
    process.standardInput = input
    process.standardOutput = output
    process.standardError = output
    try process.run()
    for document in documents {
      // One line a document, whatever its layout.
      let object = try JSONSerialization.jsonObject(with: Data(document))
      try input.fileHandleForWriting.write(contentsOf: JSONSerialization.data(withJSONObject: object))
      try input.fileHandleForWriting.write(contentsOf: Data("\n".utf8))
    }
    try input.fileHandleForWriting.close()
    let told = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return process.terminationStatus == 0
      ? told : "validator ended with \(process.terminationStatus): \(told)"
  }
}

/// A JSON document, read for looking things up by path: `json["run", "attempts", 0, "number"]`.
struct Document {
  let value: Any?

  init(_ bytes: [UInt8]) throws { value = try JSONSerialization.jsonObject(with: Data(bytes)) }
  private init(_ value: Any?) { self.value = value }

  subscript(_ path: any Sendable...) -> Document {
    var value = self.value
    for step in path {
      if let name = step as? String { value = (value as? [String: Any])?[name] }
      if let index = step as? Int {
        let array = value as? [Any]
        value = array.flatMap { $0.indices.contains(index) ? $0[index] : nil }
      }
    }
    return Document(value)
  }

  var int: Int? { value as? Int }
  var double: Double? { value as? Double }
  var text: String? { value as? String }
  var bool: Bool? { value as? Bool }
  var isNull: Bool { value is NSNull }
  var array: [Document] { (value as? [Any] ?? []).map { Document($0) } }
  var keys: Set<String> { Set((value as? [String: Any] ?? [:]).keys) }
}

/// Collects what a writer writes.
final class Collector {
  var bytes: [UInt8] = []
  var largest = 0
  func take(_ more: [UInt8]) {
    bytes += more
    largest = max(largest, more.count)
  }
  var text: String { String(decoding: bytes, as: UTF8.self) }
}
