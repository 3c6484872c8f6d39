import Posix

/// Output kept in a `ScratchFile` until all of it is known.
///
/// A plan that turns out to be damaged in its middle must not leave half a JSON value behind, and some forms begin with
/// what is known at their end.
package final class TempBuffer {
  private let file: ScratchFile
  private var size = 0

  /// - Throws: `OutputFileError` where no temporary file can be made.
  package init() throws { file = try Self.guarded { () throws(SystemError) in try ScratchFile() } }

  package func add(_ bytes: [UInt8]) throws {
    try Self.guarded { () throws(SystemError) in try file.write(bytes, at: size) }
    size += bytes.count
  }

  /// Hands on everything that was added, in order.
  package func read(_ body: ([UInt8]) throws -> Void) throws {
    for start in stride(from: 0, to: size, by: 1 << 16) {
      try body(try Self.guarded { () throws(SystemError) in try file.read(at: start, count: 1 << 16) })
    }
  }

  private static func guarded<Value>(_ body: () throws(SystemError) -> Value) throws -> Value {
    do throws(SystemError) { return try body() } catch {
      throw OutputFileError("a temporary file", errno: error.number)
    }
  }
}
