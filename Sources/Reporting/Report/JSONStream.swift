import JobModel

/// Takes bytes where they go, in order.
package typealias ByteSink = ([UInt8]) throws -> Void

/// Writes one large JSON value piece by piece, so that memory does not grow with it: pretty, 2 spaces.
final class JSONStream {
  private var buffer: [UInt8] = []
  /// The open objects and arrays: closing bracket, and whether something is in it already.
  private var open: [(close: UInt8, hasMembers: Bool)] = []
  private let sink: ByteSink

  init(_ sink: @escaping ByteSink) { self.sink = sink }

  /// The indent of what is written next, for values that are kept as bytes.
  var indent: Int { open.count * 2 }

  func beginObject(_ name: String? = nil) throws { try begin(name, "{", "}") }
  func beginArray(_ name: String? = nil) throws { try begin(name, "[", "]") }

  func member(_ name: String, _ value: JSON) throws {
    try next(name)
    value.write(to: &buffer, indent: indent)
  }

  func element(_ value: JSON) throws {
    try next(nil)
    value.write(to: &buffer, indent: indent)
  }

  /// A value that was written before, with `indent` as it is now.
  func member(_ name: String, written bytes: [UInt8]) throws {
    try next(name)
    buffer += bytes
  }

  func end() {
    guard let last = open.popLast() else { return }
    if last.hasMembers { newLine() }
    buffer.append(last.close)
  }

  func finish() throws {
    buffer.append(UInt8(ascii: "\n"))
    try sink(buffer)
    buffer = []
  }

  private func begin(_ name: String?, _ opening: Unicode.Scalar, _ closing: Unicode.Scalar) throws {
    try next(name)
    buffer.append(UInt8(ascii: opening))
    open.append((UInt8(ascii: closing), false))
  }

  private func next(_ name: String?) throws {
    if buffer.count >= 1 << 16 {
      try sink(buffer)
      buffer.removeAll(keepingCapacity: true)
    }
    guard !open.isEmpty else { return }
    if open[open.count - 1].hasMembers { buffer.append(UInt8(ascii: ",")) }
    open[open.count - 1].hasMembers = true
    newLine()
    guard let name else { return }
    JSON.string(name).write(to: &buffer)
    buffer += [UInt8(ascii: ":"), UInt8(ascii: " ")]
  }

  private func newLine() {
    buffer.append(UInt8(ascii: "\n"))
    buffer.append(contentsOf: repeatElement(UInt8(ascii: " "), count: indent))
  }
}
