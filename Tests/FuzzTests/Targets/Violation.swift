/// Something came out of an input that may never come out.
package struct Violation: Error, CustomStringConvertible {
  package var description: String
}

func require(_ holds: Bool, _ what: @autoclosure () -> String) throws {
  guard holds else { throw Violation(description: what()) }
}

func require<Value>(_ value: Value?, _ what: @autoclosure () -> String) throws -> Value {
  guard let value else { throw Violation(description: what()) }
  return value
}
