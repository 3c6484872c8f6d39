import JobModel

/// Takes bytes where they go, in order.
package typealias ByteSink = ([UInt8]) throws -> Void

/// Writes one large JSON value piece by piece, so that memory does not grow with it: pretty, 2 spaces.
final class JSONStream {
  private var text = JSONPieces()
  private let sink: ByteSink

  init(_ sink: @escaping ByteSink) { self.sink = sink }

  func beginObject(_ name: String? = nil) throws {
    try flush()
    text.begin(name, "{", "}")
  }

  func beginArray(_ name: String? = nil) throws {
    try flush()
    text.begin(name, "[", "]")
  }

  func member(_ name: String, _ value: JSON) throws {
    try flush()
    text.add(name, value)
  }

  func element(_ value: JSON) throws {
    try flush()
    text.add(nil, value)
  }

  /// An element on a line of its own.
  func line(_ value: JSON) throws {
    try flush()
    text.addLine(value)
  }

  func end() { text.end() }

  func finish() throws {
    text.buffer.append(UInt8(ascii: "\n"))
    try sink(text.buffer)
    text.buffer = []
  }

  private func flush() throws {
    guard text.buffer.count >= 1 << 16 else { return }
    try sink(text.buffer)
    text.buffer.removeAll(keepingCapacity: true)
  }
}

/// The text so far. A value of its own: a class's properties are checked at each access.
private struct JSONPieces {
  var buffer: [UInt8] = []
  /// The open objects and arrays: closing bracket, and whether something is in it already.
  private var open: [(close: UInt8, hasMembers: Bool)] = []

  var indent: Int { open.count * 2 }

  mutating func begin(_ name: String?, _ opening: Unicode.Scalar, _ closing: Unicode.Scalar) {
    next(name)
    buffer.append(UInt8(ascii: opening))
    open.append((UInt8(ascii: closing), false))
  }

  mutating func add(_ name: String?, _ value: JSON) {
    next(name)
    value.write(to: &buffer, indent: indent)
  }

  mutating func addLine(_ value: JSON) {
    if let last = open.last, last.hasMembers { buffer.append(UInt8(ascii: ",")) }
    if !open.isEmpty { open[open.count - 1].hasMembers = true }
    buffer.append(UInt8(ascii: "\n"))
    value.write(to: &buffer)
  }

  mutating func end() {
    guard let last = open.popLast() else { return }
    if last.hasMembers { newLine() }
    buffer.append(last.close)
  }

  private mutating func next(_ name: String?) {
    guard !open.isEmpty else { return }
    if open[open.count - 1].hasMembers { buffer.append(UInt8(ascii: ",")) }
    open[open.count - 1].hasMembers = true
    newLine()
    guard let name else { return }
    // Names are ours, and need no escapes.
    buffer.append(UInt8(ascii: "\""))
    buffer.append(contentsOf: name.utf8)
    buffer.append(contentsOf: [UInt8(ascii: "\""), UInt8(ascii: ":"), UInt8(ascii: " ")])
  }

  private mutating func newLine() {
    buffer.append(UInt8(ascii: "\n"))
    buffer.append(contentsOf: repeatElement(UInt8(ascii: " "), count: indent))
  }
}
