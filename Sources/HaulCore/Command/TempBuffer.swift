import JobModel
import Posix

/// Output kept in a file without a name until all of it is known to be there: a plan that turns out to be damaged in
/// its middle must not leave half a JSON value behind.
final class TempBuffer {
  private let file: ScratchFile
  private var size = 0

  /// - Throws: `End` with 73 where no temporary file can be made.
  init() throws { file = try Self.guarded { () throws(SystemError) in try ScratchFile() } }

  func add(_ bytes: [UInt8]) throws {
    try Self.guarded { () throws(SystemError) in try file.write(bytes, at: size) }
    size += bytes.count
  }

  /// Hands on everything that was added, in order.
  func read(_ body: ([UInt8]) throws -> Void) throws {
    for start in stride(from: 0, to: size, by: 1 << 16) {
      try body(try Self.guarded { () throws(SystemError) in try file.read(at: start, count: 1 << 16) })
    }
  }

  private static func guarded<Value>(_ body: () throws(SystemError) -> Value) throws -> Value {
    do throws(SystemError) { return try body() } catch {
      throw End(.cannotCreate, "a temporary file can't be used: \(error)")
    }
  }
}
